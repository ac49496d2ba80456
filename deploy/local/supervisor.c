/*
 * supervisor - starts the processes of a plan in order, keeps them running, stops them in reverse.
 *
 *     supervisor DIR        DIR should be an absolute path
 *     supervisor --version  prints it
 *
 * DIR/plan         a line for each process: KIND NAME STOP ORPHAN GRACE
 *                    KIND    service: kept running; task: must exit 0 before the next line starts
 *                    STOP    the signal that asks it to end: TERM, INT, ...
 *                    ORPHAN  the signal that the kernel sends it when the supervisor dies
 *                    GRACE   seconds from STOP to SIGKILL
 * DIR/start/NAME   the shell script that becomes the process; it ends with `exec`
 * DIR/pids/NAME    pid of each service while it runs
 * DIR/log/NAME.log standard output and error
 * DIR/failed       the latest process that ended by itself with a status other than 0: NAME and how
 * DIR/lock         locked while the supervisor lives; holds its pid
 *
 * SIGTERM, SIGINT and SIGHUP stop everything. A process that dies is restarted at once, and after
 * 200 ms, 500 ms, then 1 s if it keeps dying. No process outlives the supervisor, not even if that
 * is killed with SIGKILL.
 *
 * Exit: 0 stopped by a signal, 1 a task failed, 2 wrong usage or plan, 3 DIR already has a
 * supervisor.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/str.h"
#include "common/base/version.h"

#define PROCESSES_MAX 128   /* also in lib/services.sh */
#define SETTLED_MS    10000 /* a process that lived this long is restarted at once */

struct process {
    char name[48];
    bool is_task;
    int stop, orphan;
    unsigned long grace_s;
    pid_t pid;   /* 0: not running */
    bool is_due; /* to be started again at due_ms */
    int64_t due_ms, started_ms;
    unsigned deaths; /* consecutive, none after SETTLED_MS */
};

struct supervisor {
    const char *dir;
    struct process list[PROCESSES_MAX];
    size_t n, next; /* list[next] is the first that was never started, or the running task */
    bool is_stopping, has_failed;
};

static const unsigned restart_delay_ms[] = {0, 200, 500, 1000};

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char text[256], stamp[32];
    time_t now = time(NULL);
    struct tm utc;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    dprintf(STDERR_FILENO, "%s supervisor: %s\n", stamp, text);
}

static void path_of(const struct supervisor *self, char path[4096], const char *folder,
                    const char *name, const char *ending)
{
    snprintf(path, 4096, "%s/%s/%s%s", self->dir, folder, name, ending);
}

/* -- the plan ---------------------------------------------------------------------------------- */

static int signal_of(const char *name)
{
    for (int number = 1; number < SIGRTMIN; number++)
        if (sigabbrev_np(number) != NULL && strcmp(name, sigabbrev_np(number)) == 0)
            return number;
    return 0;
}

static bool read_line(struct process *into, const char *line)
{
    char kind[16], stop[8], orphan[8], grace[8], *end;

    if (sscanf(line, "%15s %47s %7s %7s %7s", kind, into->name, stop, orphan, grace) != 5)
        return false;
    into->is_task = strcmp(kind, "task") == 0;
    into->stop = signal_of(stop);
    into->orphan = signal_of(orphan);
    into->grace_s = strtoul(grace, &end, 10);
    return (into->is_task || strcmp(kind, "service") == 0) && into->stop != 0 &&
           into->orphan != 0 && *end == '\0' && strchr(into->name, '/') == NULL;
}

static bool read_plan(struct supervisor *self)
{
    char path[4096], line[256];
    FILE *file;
    bool is_good = true;

    snprintf(path, sizeof(path), "%s/plan", self->dir);
    file = fopen(path, "re");
    if (file == NULL) {
        say("%s: %s", path, strerror(errno));
        return false;
    }
    while (is_good && fgets(line, sizeof(line), file) != NULL) {
        is_good = self->n < PROCESSES_MAX && read_line(&self->list[self->n], line);
        if (self->n == PROCESSES_MAX)
            say("plan: more than %d lines", PROCESSES_MAX);
        else if (!is_good)
            say("plan: line %zu is invalid", self->n + 1);
        self->n += is_good;
    }
    fclose(file);
    return is_good;
}

/* -- one process ---------------------------------------------------------------------------------
 */

/* Written to a new file and renamed: a reader sees a whole line or none. */
static void put_line(const struct supervisor *self, const char *path, const char *line)
{
    char fresh[4096];
    bool is_written;
    FILE *file;

    snprintf(fresh, sizeof(fresh), "%s/pids/.new", self->dir);
    file = fopen(fresh, "we");
    is_written = file != NULL && fprintf(file, "%s\n", line) >= 0;
    if (file != NULL)
        is_written &= fclose(file) == 0;
    if (!is_written || rename(fresh, path) != 0)
        say("%s: cannot be written: %s", path, strerror(errno));
}

static void write_pid(const struct supervisor *self, const struct process *p)
{
    char path[4096], line[16];

    path_of(self, path, "pids", p->name, "");
    snprintf(line, sizeof(line), "%d", (int)p->pid);
    put_line(self, path, line);
}

static void write_failure(const struct supervisor *self, const struct process *p, const char *end)
{
    char path[4096], line[128];

    snprintf(path, sizeof(path), "%s/failed", self->dir);
    snprintf(line, sizeof(line), "%s %s", p->name, end);
    put_line(self, path, line);
}

_Noreturn static void become(const struct supervisor *self, const struct process *p, pid_t parent)
{
    static const int reset[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};
    char path[4096];
    sigset_t none;
    int log;

    setpgid(0, 0); /* the terminal's Ctrl-C does not reach it */
    prctl(PR_SET_PDEATHSIG, p->orphan);
    if (getppid() != parent)
        _exit(1);
    for (size_t i = 0; i < ARRAY_SIZE(reset); i++)
        signal(reset[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);

    path_of(self, path, "log", p->name, ".log");
    log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0640);
    if (log < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
        _exit(126);
    close(log);
    path_of(self, path, "start", p->name, "");
    execl("/bin/sh", "sh", path, (char *)NULL);
    _exit(127);
}

static void start(const struct supervisor *self, struct process *p)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0)
        become(self, p, parent);
    p->started_ms = now_ms();
    p->is_due = pid < 0;
    if (pid < 0) {
        say("%s: fork: %s", p->name, strerror(errno));
        p->due_ms = p->started_ms + 1000;
        return;
    }
    p->pid = pid;
    if (!p->is_task)
        write_pid(self, p);
    say("%s: started, pid %d", p->name, (int)pid);
}

static void on_exit_of(struct supervisor *self, struct process *p, int wait_status)
{
    bool by_signal = WIFSIGNALED(wait_status);
    char path[4096], end[32];

    if (by_signal)
        snprintf(end, sizeof(end), "ended by signal %d", WTERMSIG(wait_status));
    else
        snprintf(end, sizeof(end), "exited with status %d", WEXITSTATUS(wait_status));
    p->pid = 0;
    say("%s: %s", p->name, end);
    /* A service may be killed from outside; a task must succeed. */
    if (wait_status != 0 && !self->is_stopping && (p->is_task || !by_signal))
        write_failure(self, p, end);
    if (p->is_task) {
        self->has_failed = wait_status != 0;
        self->next += wait_status == 0;
        return;
    }
    path_of(self, path, "pids", p->name, "");
    unlink(path);
    if (self->is_stopping)
        return;
    if (now_ms() - p->started_ms >= SETTLED_MS)
        p->deaths = 0;
    p->is_due = true;
    p->due_ms = now_ms() + restart_delay_ms[p->deaths];
    if (p->deaths + 1 < ARRAY_SIZE(restart_delay_ms))
        p->deaths++;
}

/* -- all of them ---------------------------------------------------------------------------------
 */

static void reap(struct supervisor *self)
{
    int wait_status;
    pid_t pid;

    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
        for (size_t i = 0; i < self->n; i++)
            if (self->list[i].pid == pid)
                on_exit_of(self, &self->list[i], wait_status);
}

static void start_what_is_due(struct supervisor *self)
{
    for (size_t i = 0; i < self->next; i++)
        if (self->list[i].is_due && self->list[i].due_ms <= now_ms())
            start(self, &self->list[i]);
    while (self->next < self->n && self->list[self->next].pid == 0) {
        struct process *p = &self->list[self->next];

        start(self, p);
        if (p->is_task)
            return;
        self->next++;
    }
}

/* Sleeps until a signal arrives or something is due, at most until `until_ms`. */
static int wait_for_signal(struct supervisor *self, const sigset_t *signals, int64_t until_ms)
{
    struct timespec timeout;
    int64_t left_ms;
    int number;

    for (size_t i = 0; i < self->n && !self->is_stopping; i++)
        if (self->list[i].is_due && self->list[i].due_ms < until_ms)
            until_ms = self->list[i].due_ms;
    left_ms = until_ms - now_ms();
    if (left_ms < 0)
        left_ms = 0;
    timeout.tv_sec = left_ms / 1000;
    timeout.tv_nsec = left_ms % 1000 * 1000000;
    number = sigtimedwait(signals, NULL, &timeout);
    if (number == SIGCHLD)
        reap(self);
    return number;
}

static void stop_all(struct supervisor *self, const sigset_t *signals)
{
    self->is_stopping = true;
    for (size_t i = self->n; i-- > 0;) {
        struct process *p = &self->list[i];
        int64_t until_ms = now_ms() + (int64_t)p->grace_s * 1000;

        if (p->pid != 0)
            kill(p->pid, p->stop);
        while (p->pid != 0 && now_ms() < until_ms)
            wait_for_signal(self, signals, until_ms);
        if (p->pid != 0) {
            say("%s: does not end, killing it", p->name);
            kill(p->pid, SIGKILL);
        }
        while (p->pid != 0)
            wait_for_signal(self, signals, now_ms() + 1000);
    }
}

/* The lock shows that DIR has a supervisor; the kernel releases it however we end. A process that
   only checks the lock holds it for a moment: hence the timeout of a second. */
static bool take_lock(const struct supervisor *self)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s/lock", self->dir);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    for (int i = 0; i < 100 && fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) {
        say("%s: %s", path, strerror(errno));
        return false;
    }
    return ftruncate(fd, 0) == 0 && dprintf(fd, "%d\n", (int)getpid()) > 0;
}

int main(int argc, char **argv)
{
    static struct supervisor self;
    static const int handled[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    sigset_t signals;
    int number = 0;

    if (argc != 2) {
        fputs("usage: supervisor DIR | --version\n", stderr);
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0)
        return version_print();
    self.dir = argv[1];
    close_range(STDERR_FILENO + 1, ~0U, 0); /* do not keep a caller's locks and pipes open */
    if (!take_lock(&self))
        return 3;
    say("starting, version %s, revision %s", version_text, version_revision);
    if (!read_plan(&self))
        return 2;
    sigemptyset(&signals);
    for (size_t i = 0; i < ARRAY_SIZE(handled); i++) {
        signal(handled[i], SIG_DFL); /* a shell's background jobs inherit SIGINT ignored */
        sigaddset(&signals, handled[i]);
    }
    sigprocmask(SIG_BLOCK, &signals, NULL);
    while (!self.has_failed && number != SIGTERM && number != SIGINT && number != SIGHUP) {
        start_what_is_due(&self);
        number = wait_for_signal(&self, &signals, now_ms() + 60000);
    }
    say("stopping");
    stop_all(&self, &signals);
    say("stopped");
    return self.has_failed ? 1 : 0;
}

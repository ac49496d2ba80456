/* The supervisor from outside: it gets a folder with a plan, and writes pid files and logs. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/str.h"
#include "tests/support/measure.h"
#include "tests/support/supervisor_log.h"

enum { TIMEOUT_MS = 30000 };

static char dir[64];
static pid_t supervisor;

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static void write_file(const char *name, const char *text)
{
    char path[160];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "a");
    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The first `size` - 1 bytes of a file, "" when there is none. */
static const char *read_file(const char *name, char *text, size_t size)
{
    char path[160];
    FILE *file;
    size_t n;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "r");
    n = file != NULL ? fread(text, 1, size - 1, file) : 0;
    text[n] = '\0';
    if (file != NULL)
        fclose(file);
    return text;
}

static void plan(const char *line, const char *name, const char *script)
{
    char path[80];

    write_file("plan", line);
    snprintf(path, sizeof(path), "start/%s", name);
    write_file(path, script);
}

static pid_t pid_of(const char *name)
{
    char path[80], text[32];

    snprintf(path, sizeof(path), "pids/%s", name);
    return (pid_t)strtol(read_file(path, text, sizeof(text)), NULL, 10);
}

/* The pid of a service once it differs from `old`; 0 on timeout. */
static pid_t wait_for_pid(const char *name, pid_t old)
{
    int64_t until_ms = now_ms() + TIMEOUT_MS;
    pid_t pid;

    while ((pid = pid_of(name)) == old || pid == 0) {
        if (now_ms() > until_ms)
            return 0;
        pause_briefly();
    }
    return pid;
}

static bool wait_for_text(const char *name, const char *wanted)
{
    int64_t until_ms = now_ms() + TIMEOUT_MS;
    char text[4096];

    while (strstr(read_file(name, text, sizeof(text)), wanted) == NULL) {
        if (now_ms() > until_ms)
            return false;
        pause_briefly();
    }
    return true;
}

/* No such process, or a zombie. */
static bool is_gone(pid_t pid)
{
    char path[64], text[512], *state;
    FILE *file;
    size_t n;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (file == NULL)
        return true;
    n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    state = strrchr(text, ')');
    return state == NULL || state[2] == 'Z' || state[2] == 'X';
}

static bool wait_until_gone(pid_t pid)
{
    int64_t until_ms = now_ms() + TIMEOUT_MS;

    while (!is_gone(pid)) {
        if (now_ms() > until_ms)
            return false;
        pause_briefly();
    }
    return true;
}

static pid_t start_supervisor(void)
{
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 64);
    char *end;
    pid_t pid;
    int log;

    /* build/PROFILE/tests/unit/... -> build/PROFILE/bin/supervisor */
    cr_assert(n > 0);
    program[n] = '\0';
    end = strstr(program, "/tests/unit/");
    cr_assert(end != NULL);
    strcpy(end, "/bin/supervisor");
    pid = fork();
    if (pid == 0) {
        char path[160];

        snprintf(path, sizeof(path), "%s/supervisor.log", dir);
        log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
        dup2(log, STDERR_FILENO);
        execl(program, program, dir, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static int exit_status(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0)
        cr_assert(errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int stop_supervisor(void)
{
    pid_t pid = supervisor;

    supervisor = 0;
    kill(pid, SIGTERM);
    return exit_status(pid);
}

static void set_up(void)
{
    static const char *const folders[] = {"start", "pids", "log"};
    char path[160];

    strcpy(dir, "/tmp/supervisor.XXXXXX");
    cr_assert(mkdtemp(dir) != NULL);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, folders[i]);
        cr_assert(mkdir(path, 0700) == 0);
    }
}

static void tear_down(void)
{
    char command[160];

    if (supervisor > 0)
        stop_supervisor();
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    cr_assert(system(command) == 0);
}

TestSuite(supervisor, .init = set_up, .fini = tear_down);

Test(supervisor, a_killed_service_is_back_each_time_after_a_longer_pause)
{
    static const int pause_ms[] = {0, 200, 500, 1000, 1000};
    pid_t pid = 0;

    plan("service a TERM KILL 5\n", "a", "exec sleep 1000\n");
    supervisor = start_supervisor();
    for (int i = 0; i < 5; i++) {
        int64_t killed_ms;

        pid = wait_for_pid("a", pid);
        cr_assert(pid > 0);
        killed_ms = now_ms();
        kill(pid, SIGKILL);
        cr_assert(wait_for_pid("a", pid) > 0);
        cr_assert(now_ms() - killed_ms >= pause_ms[i] && now_ms() - killed_ms < limit_scaled(2000),
                  "death %d took %ld ms", i, (long)(now_ms() - killed_ms));
    }
}

Test(supervisor, processes_after_a_task_wait_for_its_end)
{
    char gate[160];

    snprintf(gate, sizeof(gate), "%s/gate", dir);
    cr_assert(mkfifo(gate, 0600) == 0);
    plan("task first TERM KILL 5\n", "first", "read -r line <\"${0%/*}/../gate\"; echo done\n");
    plan("service second TERM KILL 5\n", "second", "exec sleep 1000\n");
    supervisor = start_supervisor();
    cr_assert(wait_for_text("supervisor.log", "first: started"));
    cr_assert(pid_of("second") == 0);
    write_file("gate", "go\n"); /* the task reads it and ends */
    cr_assert(wait_for_pid("second", 0) > 0);
    cr_assert(wait_for_text("log/first.log", "done"));
}

Test(supervisor, a_task_that_fails_ends_everything_with_status_1)
{
    plan("service a TERM KILL 5\n", "a", "exec sleep 1000\n");
    plan("task t TERM KILL 5\n", "t", "exit 7\n");
    plan("service never TERM KILL 5\n", "never", "exec sleep 1000\n");
    cr_assert(exit_status(start_supervisor()) == 1);
    cr_assert(pid_of("a") == 0 && pid_of("never") == 0);
    cr_assert(wait_for_text("supervisor.log", "t: exited with status 7"));
    cr_assert(wait_for_text("failed", "t exited with status 7\n"));
}

static bool log_has_crash(int n_kills)
{
    const struct supervisor_log_kills kills = {"a", n_kills};
    const struct supervisor_log_done done = {.kills = &kills, .n_kills = 1};
    char log[4096], line[256];

    return supervisor_log_find_crash(read_file("supervisor.log", log, sizeof(log)), &done, line);
}

Test(supervisor, its_log_distinguishes_a_tests_kill_from_a_crash)
{
    char started[32];
    pid_t pid;

    plan("service a TERM KILL 5\n", "a", "echo $$ runs; exec sleep 1000\n");
    supervisor = start_supervisor();
    pid = wait_for_pid("a", 0);
    cr_assert(pid > 0 && kill(pid, SIGKILL) == 0);
    pid = wait_for_pid("a", pid);
    cr_expect_not(log_has_crash(1));
    cr_expect(log_has_crash(0));
    /* Until the shell runs, the fork has the supervisor's handlers: those of a sanitizer. */
    snprintf(started, sizeof(started), "%d runs\n", (int)pid);
    cr_assert(wait_for_text("log/a.log", started));
    cr_assert(pid > 0 && kill(pid, SIGSEGV) == 0);
    cr_assert(wait_for_pid("a", pid) > 0);
    cr_expect(log_has_crash(1));
}

Test(supervisor, names_the_service_that_failed_last_and_how)
{
    plan("service a TERM KILL 5\n", "a", "exit 3\n");
    supervisor = start_supervisor();
    cr_assert(wait_for_text("failed", "a exited with status 3\n"));
}

Test(supervisor, does_not_call_it_a_failure_when_a_service_is_killed_or_told_to_stop)
{
    char text[64];
    pid_t pid;

    plan("service a TERM KILL 5\n", "a",
         "trap 'exit 9' TERM; echo set; while :; do sleep 0.1; done\n");
    supervisor = start_supervisor();
    pid = wait_for_pid("a", 0);
    kill(pid, SIGKILL);
    cr_assert(wait_for_pid("a", pid) > 0);
    cr_assert(wait_for_text("log/a.log", "set"));
    cr_assert_eq(stop_supervisor(), 0);
    cr_assert_str_empty(read_file("failed", text, sizeof(text)));
}

Test(supervisor, stops_in_reverse_order_and_removes_the_pid_files)
{
    char log[4096], *first, *last;

    plan("service first TERM KILL 5\n", "first", "exec sleep 1000\n");
    plan("service last TERM KILL 5\n", "last", "exec sleep 1000\n");
    supervisor = start_supervisor();
    cr_assert(wait_for_pid("last", 0) > 0);
    cr_assert(stop_supervisor() == 0);
    read_file("supervisor.log", log, sizeof(log));
    first = strstr(log, "first: ended");
    last = strstr(log, "last: ended");
    cr_assert(first != NULL && last != NULL && last < first);
    cr_assert(pid_of("first") == 0 && pid_of("last") == 0);
}

Test(supervisor, who_does_not_end_in_its_time_is_killed)
{
    pid_t pid;

    plan("service deaf TERM KILL 1\n", "deaf",
         "trap '' TERM; echo set; while :; do sleep 1; done\n");
    supervisor = start_supervisor();
    cr_assert(wait_for_text("log/deaf.log", "set"));
    pid = pid_of("deaf");
    cr_assert(stop_supervisor() == 0);
    cr_assert(is_gone(pid));
}

Test(supervisor, nothing_outlives_its_kill_9)
{
    pid_t a, b;

    plan("service a TERM KILL 5\n", "a", "exec sleep 1000\n");
    plan("service b INT QUIT 5\n", "b", "exec sleep 1000\n");
    supervisor = start_supervisor();
    a = wait_for_pid("a", 0);
    b = wait_for_pid("b", 0);
    cr_assert(wait_for_text("supervisor.log", "b: started"));
    kill(supervisor, SIGKILL);
    exit_status(supervisor);
    supervisor = 0;
    cr_assert(wait_until_gone(a) && wait_until_gone(b));
}

Test(supervisor, a_second_one_leaves_the_folder_to_the_first)
{
    pid_t pid;

    plan("service a TERM KILL 5\n", "a", "exec sleep 1000\n");
    supervisor = start_supervisor();
    pid = wait_for_pid("a", 0);
    cr_assert(exit_status(start_supervisor()) == 3);
    cr_assert(pid_of("a") == pid && !is_gone(pid));
}

Test(supervisor, a_line_of_the_plan_that_it_does_not_understand_is_refused)
{
    static const char *const lines[] = {"service a TERM KILL\n", "servant a TERM KILL 5\n",
                                        "service a TERMINATE KILL 5\n", "service a TERM KILL x\n",
                                        "service ../a TERM KILL 5\n"};
    char path[160];

    snprintf(path, sizeof(path), "%s/plan", dir);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        unlink(path);
        write_file("plan", lines[i]);
        cr_assert(exit_status(start_supervisor()) == 2, "%s", lines[i]);
    }
}

Test(supervisor, a_plan_with_too_many_lines_is_refused_as_such)
{
    for (int i = 0; i < 129; i++)
        write_file("plan", "service a TERM KILL 5\n");
    cr_assert_eq(exit_status(start_supervisor()), 2);
    cr_assert(wait_for_text("supervisor.log", "plan: more than 128 lines\n"));
}

#include "tests/support/process_tree.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "tests/support/postgres_server.h"

enum { PROCESSES_MAX = 4096, RETRY_MS = 5, WITHIN_US = 30 * 1000 * 1000 };

struct process {
    pid_t pid, parent;
    char name[16], state;
    bool is_ours;
};

/* -- who is in it ---------------------------------------------------------------------------- */

static bool read_process(struct process *process, const char *pid)
{
    char path[64];
    FILE *file;
    bool read;

    snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    process->pid = atoi(pid);
    process->is_ours = false;
    read =
        fscanf(file, "%*d (%15[^)]) %c %d", process->name, &process->state, &process->parent) == 3;
    fclose(file);
    return read;
}

static size_t read_all(struct process all[PROCESSES_MAX])
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    size_t n = 0;

    must(folder != NULL);
    while (n < PROCESSES_MAX && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            n += read_process(&all[n], entry->d_name);
    closedir(folder);
    return n;
}

static bool is_parent_ours(const struct process *all, size_t n, const struct process *child)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].pid == child->parent)
            return all[i].is_ours;
    return false;
}

/* Marks the descendants of `guard`, in whatever order the kernel lists processes. */
static size_t read_tree(pid_t guard, struct process all[PROCESSES_MAX])
{
    const size_t n = read_all(all);
    bool has_more = true;

    while (has_more) {
        has_more = false;
        for (size_t i = 0; i < n; i++)
            if (!all[i].is_ours && (all[i].parent == guard || is_parent_ours(all, n, &all[i])))
                all[i].is_ours = has_more = true;
    }
    return n;
}

/* Sends the signal to each process of the tree that is not in `state` yet ('Z': has ended), and
   returns their number. `name`: only processes of that name; NULL = all. */
static int signal_named(pid_t guard, const char *name, int signal, char state)
{
    static struct process all[PROCESSES_MAX];
    const size_t n = read_tree(guard, all);
    int left = 0;

    for (size_t i = 0; i < n; i++) {
        if (!all[i].is_ours || all[i].state == 'Z' || all[i].state == state ||
            (name != NULL && strcmp(all[i].name, name) != 0))
            continue;
        left++;
        (void)kill(all[i].pid, signal); /* it may have ended since */
    }
    return left;
}

static int signal_all(pid_t guard, int signal, char state)
{
    return signal_named(guard, NULL, signal, state);
}

/* -- the guard's process --------------------------------------------------------------------- */

static _Noreturn void execute(const char *const *args, const char *const *environment,
                              bool as_postgres)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (as_postgres)
        postgres_become_user();
    if (chdir("/") != 0)
        _exit(126);
    execve(args[0], (char *const *)args, (char *const *)environment);
    _exit(127);
}

static _Noreturn void end_all(pid_t self)
{
    while (signal_all(self, SIGKILL, 'Z') > 0 || waitpid(-1, NULL, WNOHANG) >= 0)
        poll(NULL, 0, RETRY_MS);
    _exit(0);
}

static _Noreturn void guard(const char *const *args, const char *const *environment,
                            bool as_postgres)
{
    const pid_t self = getpid();
    sigset_t awaited;
    pid_t pid;

    sigemptyset(&awaited);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &awaited, NULL);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) != 0)
        _exit(126);
    pid = fork();
    if (pid < 0)
        _exit(126);
    if (pid == 0)
        execute(args, environment, as_postgres);
    for (;;) {
        if (sigwaitinfo(&awaited, NULL) == SIGTERM)
            end_all(self);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
    }
}

/* Closes the connections of the test's other threads. */
static void leave_files_behind(const char *log)
{
    const int null = open("/dev/null", O_RDONLY);
    const int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);

    if (null < 0 || out < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(out, STDERR_FILENO) < 0 || close_range(STDERR_FILENO + 1, ~0U, 0) != 0)
        _exit(126);
}

/* -- the test's ------------------------------------------------------------------------------ */

void process_tree_start(struct process_tree *tree, const char *const *args,
                        const char *const *environment, const char *log, bool as_postgres)
{
    tree->guard = fork();
    cr_assert_geq(tree->guard, 0);
    if (tree->guard > 0)
        return;
    leave_files_behind(log);
    guard(args, environment, as_postgres);
}

void process_tree_kill(struct process_tree *tree)
{
    if (tree->guard == 0)
        return;
    cr_assert_eq(kill(tree->guard, SIGTERM), 0);
    while (waitpid(tree->guard, NULL, 0) < 0)
        cr_assert_eq(errno, EINTR);
    tree->guard = 0;
}

void process_tree_kill_named(const struct process_tree *tree, const char *name)
{
    const int64_t until_us = clock_mono_us() + WITHIN_US;

    while (signal_named(tree->guard, name, SIGKILL, 'Z') > 0) {
        cr_assert_lt(clock_mono_us(), until_us);
        poll(NULL, 0, RETRY_MS);
    }
}

void process_tree_halt(const struct process_tree *tree)
{
    const int64_t until_us = clock_mono_us() + WITHIN_US;

    while (signal_all(tree->guard, SIGSTOP, 'T') > 0) {
        cr_assert_lt(clock_mono_us(), until_us);
        poll(NULL, 0, RETRY_MS);
    }
}

void process_tree_resume(const struct process_tree *tree)
{
    (void)signal_all(tree->guard, SIGCONT, '-');
}

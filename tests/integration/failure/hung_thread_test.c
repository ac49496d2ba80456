/* A thread that hangs while the rest of its process goes on. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/replica.h"

TestSuite(hung_thread, .init = stack_have_alone);

enum { WITHIN_MS = 60000 };

static const struct {
    const char *program, *thread; /* a prefix of the thread's name */
} cases[] = {{"gateway", "loop"},  {"dashboard", "loop"},    {"access", "access-test"},
             {"audit", "sealer"},  {"webhook", "sender"},    {"conversation", "inbox-test"},
             {"webhook", "queue"}, {"search", "search-test"}};
enum { CASES = ARRAY_SIZE(cases) };

static bool has_name(const struct replica *replica, const char *tid, const char *name)
{
    FILE *file = fopen(format("/proc/%d/task/%s/comm", (int)replica->pid, tid), "re");
    char comm[32] = "";
    bool has = file != NULL && fgets(comm, sizeof(comm), file) != NULL &&
               strncmp(comm, name, strlen(name)) == 0;

    if (file != NULL)
        fclose(file);
    return has;
}

static pid_t thread_of(const struct replica *replica, const char *name)
{
    DIR *tasks = opendir(format("/proc/%d/task", (int)replica->pid));
    struct dirent *task;
    pid_t tid = 0;

    cr_assert_not_null(tasks);
    while (tid == 0 && (task = readdir(tasks)) != NULL)
        if (has_name(replica, task->d_name, name))
            tid = (pid_t)strtol(task->d_name, NULL, 10);
    closedir(tasks);
    cr_assert_neq(tid, 0, "no thread %s", name);
    return tid;
}

static void halt(pid_t tid)
{
    int status;

    cr_assert_eq(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0, "%s", strerror(errno));
    cr_assert_eq(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
    cr_assert_eq(waitpid(tid, &status, __WALL), tid);
    cr_assert(WIFSTOPPED(status));
}

struct expected {
    const struct replica *replica;
    const char *path, *reason;
};

static bool is_told(void *closure)
{
    const struct expected *expected = closure;
    const struct client_response *response = replica_ask(expected->replica, expected->path);

    return response->status == 503 && strstr(response->body, expected->reason) != NULL;
}

static void expect_told(const struct replica *replica, const char *path, const char *thread)
{
    struct expected expected = {replica, path, format("%s", thread)};

    cr_assert(stack_wait(is_told, &expected, WITHIN_MS), "%s of %s reports %s", path, thread,
              replica_ask(replica, path)->body);
}

Test(hung_thread, is_reported_by_readiness_and_then_by_liveness)
{
    struct replica replicas[CASES];
    pid_t tids[CASES];

    for (size_t i = 0; i < CASES; i++)
        replica_launch_of(&replicas[i], cases[i].program, (const char *const[]){NULL});
    for (size_t i = 0; i < CASES; i++)
        replica_await(&replicas[i]);
    for (size_t i = 0; i < CASES; i++)
        halt(tids[i] = thread_of(&replicas[i], cases[i].thread));
    for (size_t i = 0; i < CASES; i++) {
        const char *reply = format("thread %s", cases[i].thread);

        expect_told(&replicas[i], "/readyz", reply);
        cr_expect_eq(replica_metric(&replicas[i], "conversations_threads_hung"), 1);
    }
    for (size_t i = 0; i < CASES; i++)
        expect_told(&replicas[i], "/livez", format("thread %s", cases[i].thread));
    for (size_t i = 0; i < CASES; i++)
        cr_assert_eq(ptrace(PTRACE_DETACH, tids[i], NULL, NULL), 0);
    for (size_t i = 0; i < CASES; i++)
        replica_await(&replicas[i]);
    replicas_stop(replicas, CASES);
}

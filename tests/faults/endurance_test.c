/*
 * Endurance: hours at half the highest rate that 8 requests at a time reach and webhook deliveries
 * keep up with, with a step of faults every 20 s, keys and endpoints that are created and removed,
 * and new partitions of the audit log. watch-endurance reports what has grown, slowed down or failed.
 *
 * Watched processes must live long. Of our own, only gateway-1 and conversation-1 are killed, whose
 * other replica stays alive; if the plan kills another one, it is stopped for a while instead.
 * Servers are killed as planned.
 *
 * ENDURANCE_SECONDS is the length; `make endurance` sets it. The seed and the steps are those of
 * fault_run.h; FAULTS_RATE replaces half the highest rate.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/faults/ask.h"
#include "tests/faults/churn.h"
#include "tests/faults/fault_run.h"
#include "tests/faults/faulty_stack.h"
#include "tests/faults/workload.h"
#include "tests/support/sql.h"

TestSuite(endurance, .init = stack_have_alone);

enum {
    SEARCH_S = 10,
    SEARCH_WORKERS = 8,
    DELIVERED_MS = 180 * 1000,
    DELIVERED_POLL_MS = 100,
    STEP_MS = 20000,
    STOP_MS = 1500,
    CYCLE_STEPS = 30,   /* ten minutes, as long as a window of watch-endurance */
    BACKLOG_MS = 15000, /* to send what became due during a fault, at twice the rate at most */
    AS_FAST_AS_MAY_BE = 1000000,
    NAMES_MAX = 512
};

static struct {
    pthread_mutex_t lock;
    FILE *file;
    int64_t begin_us;
    atomic_llong caught_up_us; /* due time of a request that was the first on time after a fault */
} latencies = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whether a request was sent late only because those that became due during a fault were sent first. */
static bool is_of_backlog(const struct workload_answer *answer)
{
    const int64_t ended_us = faulty_stack_ended_us();

    if (answer->is_on_time && latencies.caught_up_us < ended_us)
        latencies.caught_up_us = answer->due_us;
    return !answer->is_on_time && answer->due_us < ended_us + BACKLOG_MS * 1000LL &&
           (latencies.caught_up_us < ended_us || answer->due_us < latencies.caught_up_us);
}

/* Writes a line for watch-endurance about each request that was due while no fault was near.
   Requests of churn are due when they are sent; any status that tells whether the key is valid is
   expected. */
static void note_latency(const struct response *response)
{
    const struct workload_answer *answer = workload_answer();
    const int64_t due_us = answer != NULL ? answer->due_us : response->begin_us;
    const bool is_expected =
        answer != NULL ? answer->is_expected : response->status == 200 || response->status == 401;

    if (!faulty_stack_was_calm(due_us) || (answer != NULL && is_of_backlog(answer)))
        return;
    pthread_mutex_lock(&latencies.lock);
    if (latencies.file != NULL)
        fprintf(latencies.file, "%.1f %.2f %.2f %d %d %s\n",
                (double)(due_us - latencies.begin_us) / 1e6,
                (double)(response->end_us - due_us) / 1e3,
                (double)(response->begin_us - due_us) / 1e3, response->status, is_expected,
                answer != NULL ? answer->operation : "churn");
    pthread_mutex_unlock(&latencies.lock);
}

static bool may_be_killed(const char *process)
{
    return strcmp(process, "gateway-1") == 0 || strcmp(process, "conversation-1") == 0 ||
           strcmp(process, fault_servers[FAULT_NATS]) == 0 ||
           strcmp(process, fault_servers[FAULT_POSTGRES]) == 0;
}

static void let_live(struct fault_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        for (size_t j = 0; j < plan->steps[i].n; j++) {
            struct fault *fault = &plan->steps[i].faults[j];

            if (fault->kind != FAULT_KILL || may_be_killed(fault->whom))
                continue;
            fault->kind = FAULT_STOP;
            fault->ms = STOP_MS;
        }
}

static void await_delivered(void)
{
    const int64_t until_us = clock_mono_us() + DELIVERED_MS * 1000LL;

    while (sql_integer("SELECT ((SELECT count(*) FROM webhook.queue)"
                       " + (SELECT count(*) FROM webhook.events WHERE NOT dispatched))::int",
                       NULL) > 0) {
        cr_assert_lt(clock_mono_us(), until_us, "webhook deliveries do not end");
        stack_let_run(DELIVERED_POLL_MS);
    }
}

/* In a long run the steps repeat, so that the windows that are compared have the same faults. */
static void repeat_steps(struct fault_plan *plan)
{
    if (plan->n >= 3 * CYCLE_STEPS)
        plan->n = CYCLE_STEPS;
}

/* The workers send one request after the other for some seconds; then the webhook deliveries that
   these have caused are awaited, because a rate at which they fall behind cannot be kept up.
   Requests refused for lack of capacity do not count. With more workers the services get larger
   batches, which take less processor time for each request, so half the rate keeps the machine
   busier: with 64, two processors were 90 % busy, and the 99th percentiles of ten minutes varied by
   a fifth with nothing but what else the host of the virtual machine did. */
static int find_highest_rate(const struct org orgs[WORKLOAD_ORGS])
{
    const int64_t began_us = clock_mono_us();
    struct workload_counts counts;

    workload_start(orgs, 1, AS_FAST_AS_MAY_BE, SEARCH_WORKERS);
    stack_let_run(SEARCH_S * 1000);
    counts = workload_stop();
    await_delivered();
    return (int)(counts.good * 1000000 / (clock_mono_us() - began_us));
}

static const char *names_of(bool are_killed)
{
    static char names[NAMES_MAX];
    size_t n = 0;

    for (size_t i = 0; i < fault_processes_n; i++)
        if (may_be_killed(fault_processes[i]) == are_killed)
            n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n > 0 ? "," : "",
                                  fault_processes[i]);
    cr_assert_lt(n, sizeof(names));
    return format("%s", names);
}

static pid_t watch(const char *samples)
{
    const pid_t pid = fork();

    cr_assert_geq(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execl("tests/faults/watch-endurance", "watch-endurance", "watch", samples, NULL);
        _exit(127);
    }
    return pid;
}

/* Expects that it ends with 0 when it gets the signal, and not before. */
static void end_watch(pid_t watcher)
{
    int status;

    kill(watcher, SIGTERM);
    cr_assert_eq(waitpid(watcher, &status, 0), watcher);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the watcher ended with %#x",
              (unsigned)status);
}

static void run_for_long(const struct fault_run *run, const struct org orgs[WORKLOAD_ORGS],
                         struct receiver *receiver, const char *samples, const char *latency_path)
{
    struct workload_counts counts;
    pid_t watcher;
    int n_snapshots;

    latencies.file = fopen(latency_path, "we");
    latencies.begin_us = clock_mono_us();
    cr_assert_not_null(latencies.file);
    watcher = watch(samples);
    workload_start(orgs, run->seed, run->per_second, WORKLOAD_WORKERS);
    churn_start(&orgs[0], 0, receiver_url(receiver, "/ok/churn"));
    n_snapshots = fault_run_steps(run);
    counts = workload_stop();
    churn_stop();
    end_watch(watcher);
    pthread_mutex_lock(&latencies.lock);
    cr_assert_eq(fclose(latencies.file), 0);
    latencies.file = NULL;
    pthread_mutex_unlock(&latencies.lock);
    fprintf(stderr, "%lld requests, %d a second; at most %.1f s late\n", counts.requests,
            run->per_second, (double)counts.latest_us / 1e6);
    cr_expect_eq(
        system(format("tests/faults/watch-endurance report '%s' '%s' --seconds %d"
                      " --requests %lld --failed %lld --snapshots %d --lives %s,load"
                      " --killed %s 1>&2",
                      samples, latency_path, run->seconds, counts.requests, counts.failed_answers,
                      n_snapshots, names_of(false), names_of(true))),
        0, "see the output of watch-endurance");
}

Test(endurance, nothing_grows_or_becomes_slower)
{
    const char *seconds = stack_setting("ENDURANCE_SECONDS");
    struct receiver *receiver = receiver_start("good");
    struct webhook webhooks[WORKLOAD_ORGS];
    struct org orgs[WORKLOAD_ORGS];
    static struct fault_run run;

    fault_run_settings(&run, atoi(seconds), 0, false);
    run.step_ms = STEP_MS;
    repeat_steps(&run.plan);
    let_live(&run.plan);
    ask_observe(note_latency);
    receiver_keep_nothing(receiver);
    faulty_stack_open(&run.plan);
    for (int i = 0; i < WORKLOAD_ORGS; i++)
        fault_run_organization(i, &orgs[i], receiver, &webhooks[i]);
    if (run.per_second == 0)
        run.per_second = find_highest_rate(orgs) / 2;
    cr_assert_gt(run.per_second, 0);
    fprintf(stderr, "FAULTS_SEED=%llu FAULTS_RATE=%d for %s s\n", (unsigned long long)run.seed,
            run.per_second, seconds);
    run_for_long(&run, orgs, receiver, format("%s/samples.ndjson", stack_setting("RUN_DIR")),
                 format("%s/latencies", stack_setting("RUN_DIR")));
    faulty_stack_await_ready();
    faulty_stack_expect_no_crash();
}

#include "tests/faults/fault_run.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/faults/churn.h"
#include "tests/faults/faulty_stack.h"
#include "tests/faults/final_reads.h"
#include "tests/faults/history.h"
#include "tests/faults/kept_snapshot.h"

enum { BEFORE_MS = 1000, LAST_DEADLINE_MS = 4000 /* every command has expired by then */ };

static int64_t number_of(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL && text[0] != '\0' ? strtoll(text, NULL, 10) : otherwise;
}

void fault_run_settings(struct fault_run *run, int seconds, int per_second, bool with_machines)
{
    const char *plan = getenv("FAULTS_PLAN"), *history = getenv("FAULTS_HISTORY");

    run->seed = (uint64_t)number_of("FAULTS_SEED", clock_us() % 1000000000);
    run->seconds = (int)number_of("FAULTS_SECONDS", seconds);
    run->per_second = (int)number_of("FAULTS_RATE", per_second);
    run->history = history != NULL && history[0] != '\0'
                       ? history
                       : format("%s/log/history.ndjson", stack_setting("RUN_DIR"));
    if (plan != NULL && strcmp(plan, "none") == 0)
        run->plan.n = 0;
    else if (plan != NULL && plan[0] != '\0')
        fault_plan_read(&run->plan, plan, run->seconds * 1000LL);
    else
        fault_plan_draw(&run->plan, run->seed, run->seconds * 1000LL, with_machines);
}

void fault_run_organization(int number, struct org *org, struct receiver *receiver,
                            struct webhook *webhook)
{
    org_new(org);
    json_decref(convctl("org", "set", org->id, "--rate-limit", "1000000", NULL));
    webhook_new(org, receiver_url(receiver, format("/ok/%d", number)), "conversation.created",
                webhook);
    history_write(json_pack("{s:s, s:i, s:s}", "type", "org", "org", number, "id", org->id));
}

static void print_begin(const struct fault_run *run)
{
    fprintf(stderr, "FAULTS_SEED=%" PRIu64 " FAULTS_SECONDS=%d FAULTS_RATE=%d: %zu steps\n",
            run->seed, run->seconds, run->per_second, run->plan.n);
    history_write(json_pack("{s:s, s:I, s:i, s:i, s:I}", "type", "run", "seed",
                            (json_int_t)run->seed, "seconds", run->seconds, "rate", run->per_second,
                            "wall", (json_int_t)(clock_us() - clock_mono_us())));
}

int fault_run_steps(const struct fault_run *run)
{
    int64_t begin_us, until_us;

    kept_snapshot_renew();
    /* Only what was written before the first fault shows that a clock makes something go back. */
    stack_let_run(BEFORE_MS);
    begin_us = clock_mono_us();
    until_us = begin_us + run->seconds * INT64_C(1000000);
    for (size_t i = 0; run->plan.n > 0 && clock_mono_us() < until_us; i++) {
        const struct fault_step *step = &run->plan.steps[i % run->plan.n];
        const int64_t next_us = clock_mono_us() + run->step_ms * 1000LL;
        char text[200];

        fault_step_print(step, text, sizeof(text));
        fprintf(stderr, "%6.1f s  %s\n", (double)(clock_mono_us() - begin_us) / 1e6, text);
        faulty_stack_run(step, until_us);
        kept_snapshot_renew();
        if (clock_mono_us() < next_us && clock_mono_us() < until_us)
            stack_let_run(((next_us < until_us ? next_us : until_us) - clock_mono_us()) / 1000);
    }
    if (clock_mono_us() < until_us)
        stack_let_run((until_us - clock_mono_us()) / 1000);
    return kept_snapshot_end();
}

/* Copies what check_history prints; keeps the lines that say what it found. The exit status. */
static int check_history(const char *history, char *found, size_t capacity)
{
    FILE *said = popen(format("tests/faults/check_history '%s' 2>&1", history), "re");
    char line[1200];
    size_t n = 0;
    int status;

    cr_assert_not_null(said);
    found[0] = '\0';
    while (fgets(line, sizeof(line), said) != NULL) {
        fputs(line, stderr);
        if ((strncmp(line, "BROKEN ", 7) == 0 || strncmp(line, "check_history: ", 15) == 0) &&
            n + strlen(line) < capacity)
            n += (size_t)sprintf(found + n, "%s", line);
    }
    status = pclose(said);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Keeps the history of a failed run, with the stack's logs; otherwise it is large and useless. */
static void check(const struct fault_run *run)
{
    char found[4096];
    const int status = check_history(run->history, found, sizeof(found));

    if (status != 0)
        cr_expect_fail("check_history exited with %d\n%sFAULTS_SEED=%" PRIu64 " FAULTS_SECONDS=%d",
                       status, found, run->seed, run->seconds);
    else if (getenv("FAULTS_HISTORY") == NULL)
        (void)unlink(run->history);
}

void fault_run(const struct fault_run *run)
{
    struct receiver *receiver = receiver_start("good");
    struct webhook webhooks[WORKLOAD_ORGS];
    struct org orgs[WORKLOAD_ORGS];
    struct workload_counts counts;
    int n_snapshots;

    history_open(run->history);
    print_begin(run);
    faulty_stack_open(&run->plan);
    for (int i = 0; i < WORKLOAD_ORGS; i++)
        fault_run_organization(i, &orgs[i], receiver, &webhooks[i]);
    workload_start(orgs, run->seed, run->per_second, WORKLOAD_WORKERS);
    churn_start(&orgs[0], 0, receiver_url(receiver, "/ok/churn"));
    n_snapshots = fault_run_steps(run);
    counts = workload_stop();
    churn_stop();
    fprintf(stderr, "%lld requests, sent at most %.1f s late; a snapshot was taken %d times\n",
            counts.requests, (double)counts.latest_us / 1e6, n_snapshots);
    faulty_stack_await_ready();
    stack_let_run(LAST_DEADLINE_MS);
    final_reads(orgs, receiver, webhooks);
    faulty_stack_expect_no_crash();
    history_close();
    check(run);
}

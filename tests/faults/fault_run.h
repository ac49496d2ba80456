/*
 * fault_run - a run: load, faults, and its history.
 *
 * What     Opens two organizations, each with an endpoint for its events; sends the workload while
 *          steps of faults follow one another; then reads everything that is stored.
 * Threads  The test's main thread.
 * Fails    Fails the test if the stack does not recover, or if check_history finds a broken
 *          promise.
 *
 * Settings, by environment:
 *
 *     FAULTS_SEED      a number; by default one is drawn, and printed
 *     FAULTS_SECONDS   how long
 *     FAULTS_RATE      requests a second
 *     FAULTS_PLAN      steps as in fault_plan.h, instead of those drawn from the seed; "none"
 *     FAULTS_HISTORY   the file of the history; by default log/history.ndjson in RUN_DIR,
 *                      deleted if the run passes
 */
#ifndef TESTS_FAULTS_FAULT_RUN_H
#define TESTS_FAULTS_FAULT_RUN_H

#include <stdint.h>

#include "tests/faults/fault_plan.h"
#include "tests/support/webhooks.h"

struct fault_run {
    uint64_t seed;
    int seconds, per_second;
    const char *history;
    struct fault_plan plan;
    int step_ms; /* minimum time from the start of one step to the start of the next */
};

/* `seconds` and `per_second` are defaults for what is not set. `with_machines`: see
   fault_plan_draw(). */
void fault_run_settings(struct fault_run *run, int seconds, int per_second, bool with_machines);
void fault_run(const struct fault_run *run);
/* A part of a run: executes the steps in order, and again from the first, until the time is
   over. A snapshot of the database is held meanwhile; returns how often one was taken
   (kept_snapshot.h). */
int fault_run_steps(const struct fault_run *run);
/* Another part: an organization whose events are sent to that receiver at "/ok/NUMBER". */
void fault_run_organization(int number, struct org *org, struct receiver *receiver,
                            struct webhook *webhook);

#endif

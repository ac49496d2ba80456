/*
 * fault_run - a run: load, faults, and the history of it.
 *
 * What     Opens two organizations, each with an endpoint for its events; sends the workload while
 *          steps of faults follow each other; then reads what is there.
 * Threads  The test's main thread.
 * Fails    Fails the test when the stack does not heal, and when check_history finds that a promise
 *          was not kept.
 *
 * Settings, by environment:
 *
 *     FAULTS_SEED      a number; without it one is drawn, and printed
 *     FAULTS_SECONDS   how long
 *     FAULTS_RATE      requests a second
 *     FAULTS_PLAN      steps as fault_plan.h has them instead of those drawn from the seed; "none"
 *     FAULTS_HISTORY   where the history goes; without it, log/history.ndjson in RUN_DIR, until the run has passed
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
    int step_ms; /* from one step's begin to the next one's at least */
};

/* What is not set takes these. */
void fault_run_settings(struct fault_run *run, int seconds, int per_second);
void fault_run(const struct fault_run *run);
/* A part of it: the steps one after the other, and again when they are through, until the time is over. */
void fault_run_steps(const struct fault_run *run);
/* Another part: an organization whose events come to that receiver at "/ok/NUMBER". */
void fault_run_organization(int number, struct org *org, struct receiver *receiver,
                            struct webhook *webhook);

#endif

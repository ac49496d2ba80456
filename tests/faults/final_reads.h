/*
 * final_reads - reads what is stored after a run, through the API and convctl, into the history.
 *
 * What     All conversations of every contact that the workload has named; the whole audit log; the
 *          result of verifying it; every delivery received. The last line marks the reads as
 *          complete.
 * Threads  The test's main thread, when nothing else runs.
 * Fails    Fails the test if something cannot be read.
 */
#ifndef TESTS_FAULTS_FINAL_READS_H
#define TESTS_FAULTS_FINAL_READS_H

#include "tests/faults/workload.h"
#include "tests/support/webhooks.h"

/* Deliveries arrived at "/ok/ORG". */
void final_reads(const struct org orgs[WORKLOAD_ORGS], struct receiver *receiver,
                 const struct webhook webhooks[WORKLOAD_ORGS]);

#endif

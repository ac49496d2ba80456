/*
 * final_reads - what is there when all is over, read through the API and by convctl, into the history.
 *
 * What     All conversations of every contact that the workload has named; the whole audit log; what
 *          verifying it says; every delivery that came. The last line says that all of this was read.
 * Threads  The test's main thread, when nothing else runs.
 * Fails    Fails the test when something cannot be read.
 */
#ifndef TESTS_FAULTS_FINAL_READS_H
#define TESTS_FAULTS_FINAL_READS_H

#include "tests/faults/workload.h"
#include "tests/support/webhooks.h"

/* Deliveries came to "/ok/ORG". */
void final_reads(const struct org orgs[WORKLOAD_ORGS], struct receiver *receiver,
                 const struct webhook webhooks[WORKLOAD_ORGS]);

#endif

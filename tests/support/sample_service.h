/*
 * sample_service - a service whose commands do what a test tells them.
 */
#ifndef TESTS_SUPPORT_SAMPLE_SERVICE_H
#define TESTS_SUPPORT_SAMPLE_SERVICE_H

#include "common/actor/actor.h"
#include "tests/support/postgres_server.h"

/* Writes one row with the body as its id and replies `created` with it. No body is refused, but
   some have effects: "bad" makes its statement fail, "order-N" sets its lock order to N, "retry-N"
   loses a race N times, "more-X" also puts X in a separate round trip, "notify" publishes the
   notice, "long-N" takes N ms, "costs-N" reports a cost of N units, "lock-N" waits for advisory
   lock N, "slow-commit" sleeps during commit. */
#define SAMPLE_PUT "v1.sample.put"
/* The same, but one statement puts all rows of a batch. */
#define SAMPLE_PUT_ALL "v1.sample.put-all"
#define SAMPLE_BLOCK   "v1.sample.block" /* waits for advisory lock 1, then puts "block" */
#define SAMPLE_COUNT   "v1.sample.count" /* replies with the number of rows */
#define SAMPLE_FILL    "v1.sample.fill"  /* replies with as many bytes as the body says */

#define SAMPLE_NOTICE "v1.notice.sample"

extern const struct postgres_template sample_template; /* with the audit log's tables */
extern const struct service sample_service;

#endif

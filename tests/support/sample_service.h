/*
 * sample_service - a service whose commands do what a test asks for.
 */
#ifndef TESTS_SUPPORT_SAMPLE_SERVICE_H
#define TESTS_SUPPORT_SAMPLE_SERVICE_H

#include "common/actor/actor.h"
#include "proto/subject.h"
#include "tests/support/postgres_server.h"

/* Writes one row with the body as its id and answers `created` with it, but: nothing is refused,
   "bad" makes its statement fail, "order-N" has N for its lock order, "retry-N" loses a race N
   times, "more-X" puts X as well in a separate round, "notify" publishes the notice, "long-N" takes
   N ms, "costs-N" says that it cost N units, "lock-N" waits for advisory lock N, "slow-commit"
   sleeps when it is committed. */
#define SAMPLE_PUT "v1.sample.put"
/* The same, but that all of a batch are put by one statement. */
#define SAMPLE_PUT_ALL "v1.sample.put-all"
/* The same as SAMPLE_PUT, in bundles. */
#define SAMPLE_PUT_BUNDLED SUBJECT_CONVERSATION_CREATE
#define SAMPLE_BLOCK       "v1.sample.block" /* puts "block", and waits for advisory lock 1 before */
#define SAMPLE_COUNT       "v1.sample.count" /* answers with the number of rows */
#define SAMPLE_FILL        "v1.sample.fill"  /* answers with as many bytes as the body says */

#define SAMPLE_NOTICE "v1.notice.sample"

extern const char sample_schema[]; /* with the audit log's table */
extern const struct postgres_template sample_template;
extern const struct service sample_service;

#endif

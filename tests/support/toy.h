/*
 * toy - a service whose commands do what a test wants to see.
 */
#ifndef TESTS_SUPPORT_TOY_H
#define TESTS_SUPPORT_TOY_H

#include "common/actor/actor.h"
#include "tests/support/postgres_server.h"

/* Writes one row whose id is the body and answers `created` with it, but: nothing is refused,
   "bad" makes its statement fail, "order-N" has N for its lock order, "retry-N" loses a race N
   times, "more-X" puts X as well in a round of its own, "ring" rings the doorbell, "long-N" takes
   N ms, "slow-commit" sleeps when it is committed. */
#define TOY_PUT   "v1.toy.put"
#define TOY_BLOCK "v1.toy.block" /* puts "block", and waits for advisory lock 1 before */
#define TOY_COUNT "v1.toy.count" /* answers with the number of rows */

#define TOY_DOORBELL "v1.notice.toy"

extern const char toy_schema[]; /* with the trail's table */
extern const struct postgres_template toy_template;
extern const struct service toy_service;

#endif

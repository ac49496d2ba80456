/*
 * workload - requests of every kind at a steady rate, from a seed, to both gateways, for two
 * organizations that use the same external ids.
 *
 * What     An open loop: the nth request is due at n / rate, whatever became of those before, as long
 *          as WORKLOAD_WORKERS are not all waiting. What kind it is and what is in it follows from the
 *          seed, but for the ids that were answered. Each is a line of the history (check_history).
 * Owns     Its threads, between workload_start() and workload_stop().
 * Threads  The test's main thread.
 * Fails    Fails the test when a request cannot be made; any answer, and none, is fine here.
 */
#ifndef TESTS_FAULTS_WORKLOAD_H
#define TESTS_FAULTS_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/api_client.h"

enum { WORKLOAD_WORKERS = 384, WORKLOAD_GATEWAYS = 2, WORKLOAD_ORGS = 2, WORKLOAD_PER_CONTACT = 8 };

struct workload_counts {
    long long requests;       /* a search of several pages is one, and so are two that race */
    long long good;           /* of them, those with no other answers than were expected */
    long long failed_answers; /* that were not expected, or did not come */
    int64_t latest_us;        /* how much later than it was due a request was sent, at most */
};

/* What a request is for, when it was due and whether its answer is one that it gets when nothing is
   wrong, be it a refusal. */
struct workload_answer {
    const char *operation;
    int64_t due_us;
    bool is_expected;
};

void workload_start(const struct org orgs[WORKLOAD_ORGS], uint64_t seed, int per_second);
struct workload_counts workload_stop(void);

/* For a function that ask_observe() has set: the answer that it gets; NULL for one to somebody else's
   request. */
const struct workload_answer *workload_answer(void);

/* How many external ids an organization has used: x-0 to x-(n-1), x-i of contact
   c-(i / WORKLOAD_PER_CONTACT). */
unsigned workload_external_ids(int org);
/* Likewise race-0 to race-(n-1), of racer-(i / WORKLOAD_PER_CONTACT). */
unsigned workload_races(int org);

#endif

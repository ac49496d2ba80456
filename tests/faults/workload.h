/*
 * workload - requests of every kind at a steady rate, from a seed, to both gateways, for two
 * organizations that use the same external ids.
 *
 * What     An open loop: the nth request is due at n / rate, whatever happens to earlier ones,
 *          unless all WORKLOAD_WORKERS are waiting. Its kind and content follow from the seed,
 *          except for ids taken from responses. Each is a line of the history (check_history).
 * Owns     Its threads, between workload_start() and workload_stop().
 * Threads  The test's main thread.
 * Fails    Fails the test if a request cannot be made; any response, or none, is fine here.
 */
#ifndef TESTS_FAULTS_WORKLOAD_H
#define TESTS_FAULTS_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/api_client.h"

enum { WORKLOAD_WORKERS = 384, WORKLOAD_GATEWAYS = 2, WORKLOAD_ORGS = 2, WORKLOAD_PER_CONTACT = 8 };

struct workload_counts {
    long long requests;       /* a search of several pages is one, and so is a racing pair */
    long long good;           /* of these, the ones with only expected responses */
    long long failed_answers; /* unexpected, or missing */
    int64_t latest_us;        /* the longest delay of a request after it was due */
};

/* The operation of a request, when it was due, whether it was sent then, and whether its response is
   one that it gets without faults, which may be a refusal. */
struct workload_answer {
    const char *operation;
    int64_t due_us;
    bool is_on_time; /* only of the first request of a turn */
    bool is_expected;
};

void workload_start(const struct org orgs[WORKLOAD_ORGS], uint64_t seed, int per_second);
struct workload_counts workload_stop(void);

/* For the function set with ask_observe(): the response that it observes; NULL if the request is
   not the workload's. */
const struct workload_answer *workload_answer(void);

/* How many external ids an organization has used: x-0 to x-(n-1), where x-i is of contact c-(i /
   WORKLOAD_PER_CONTACT). */
unsigned workload_external_ids(int org);
/* The same for races: race-0 to race-(n-1), of racer-(i / WORKLOAD_PER_CONTACT). */
unsigned workload_races(int org);

#endif

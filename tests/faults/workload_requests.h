/*
 * workload_requests - what the requests of the workload are.
 *
 * What     A turn is a request, a search of several pages, or a pair that races. Its kind and
 *          content follow from the seed and its number, except for ids taken from responses. Each
 *          request is a line of the history (check_history).
 * Owns     What is known of the conversations, from workload_requests_open() to _close().
 * Threads  workload_turn() from any, each with its own connections.
 * Fails    Fails the test if a request cannot be made; any response, or none, is fine here.
 */
#ifndef TESTS_FAULTS_WORKLOAD_REQUESTS_H
#define TESTS_FAULTS_WORKLOAD_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"

enum { WORKLOAD_GATEWAYS = 2, WORKLOAD_ORGS = 2, WORKLOAD_PER_CONTACT = 8 };

void workload_requests_open(const struct org orgs[WORKLOAD_ORGS], uint64_t seed);
void workload_requests_stop(void); /* no further pages in turns that have begun */
void workload_requests_close(void);
/* The nth turn, over these connections. Returns how many of its responses were unexpected, or
   missing. */
int workload_turn(struct http_connection connections[WORKLOAD_GATEWAYS], long long n,
                  int64_t due_us);

/* The operation of a request, when it was due, whether it was sent then, and whether its response is
   one that it gets without faults, which may be a refusal. */
struct workload_answer {
    const char *operation;
    int64_t due_us;
    bool is_on_time; /* only of the first request of a turn */
    bool is_expected;
};

/* For the function set with ask_observe(): the response that it observes; NULL if the request is
   not the workload's. */
const struct workload_answer *workload_answer(void);

/* How many external ids an organization has used: x-0 to x-(n-1), where x-i is of contact c-(i /
   WORKLOAD_PER_CONTACT). */
unsigned workload_external_ids(int org);
/* The same for races: race-0 to race-(n-1), of racer-(i / WORKLOAD_PER_CONTACT). */
unsigned workload_races(int org);
/* External id and contact of creates that are refused, since their key may only read. */
#define WORKLOAD_DENIED "denied"

#endif

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

#include <stdint.h>

#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"

enum { WORKLOAD_WORKERS = 384, WORKLOAD_GATEWAYS = 2, WORKLOAD_ORGS = 2, PER_CONTACT = 8 };

/* A request on a connection, which is opened where it is closed. */
struct ask {
    struct http_connection *connection;
    int gateway;
    const char *key; /* NULL: none */
    const char *method, *path;
    const char *header; /* one more, instead of the Content-Type; or NULL */
    const char *body;   /* NULL: none */
    int timeout_ms;
};
struct response {
    bool was_sent, is_replay; /* the latter as the header says */
    int status;               /* 0: no answer */
    int64_t begin_us, end_us;
    char request_id[37];
    json_t *body; /* NULL: none, or no JSON; the caller's */
};
struct response ask(const struct ask *it);
/* The same in two steps, so that two are under way. */
struct response ask_begin(const struct ask *it);
void ask_end(const struct ask *it, struct response *response);

struct workload_counts {
    long long requests;
    int64_t latest_us; /* how much later than it was due a request was sent, at most */
};

void workload_start(const struct org orgs[WORKLOAD_ORGS], uint64_t seed, int per_second);
struct workload_counts workload_stop(void);
/* Is told of each answer, by the thread that got it; then nothing is written into the history. NULL: none. */
void workload_observe(void (*observer)(const struct response *response));

/* How many external ids an organization has used: x-0 to x-(n-1), x-i of contact c-(i / PER_CONTACT). */
unsigned workload_external_ids(int org);
/* Likewise race-0 to race-(n-1), of racer-(i / PER_CONTACT). */
unsigned workload_races(int org);

/* The line of one request; takes over `args`, and `response->body`, of which it keeps what is checked. */
void workload_note(const char *operation, int org, const struct ask *asked,
                   struct response *response, json_t *args);

#endif

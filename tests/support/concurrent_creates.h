/*
 * concurrent_creates - pairs of simultaneous creates, in several replicas of the conversation
 * service.
 *
 * What     Pairs of threads: both threads of a pair send a create at the same moment, each with its
 *          own external id, for the same new contact. Or for two contacts, which is the same work
 *          without a race. The replicas are those of the stack and as many more as needed; counters
 *          are summed over all of them.
 * Owns     Everything opened and begun must be ended; after a failure it ends with the test's
 *          process.
 * Threads  Its own; the functions are for the test's.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_CONCURRENT_CREATES_H
#define TESTS_SUPPORT_CONCURRENT_CREATES_H

#include "tests/support/api_client.h"

/* -- replicas -------------------------------------------------------------------------------- */

struct replicas;

struct replicas *replicas_open(int n);
/* A counter, summed over all replicas. */
long long replicas_count(const struct replicas *replicas, const char *series);
void replicas_close(struct replicas *replicas);

/* The number of deadlocks in PostgreSQL's log. */
int deadlocks_logged(void);

/* -- pairs ----------------------------------------------------------------------------------- */

struct pairs;

struct pairs_seen {
    int made;    /* 201 */
    int others;  /* any other response, or none */
    int example; /* the status of one of these; 0 = no response */
};

/* `per_second` pairs, if the machine is fast enough; 0 = as fast as possible. */
struct pairs *pairs_begin(const struct org *org, bool share_contact, int per_second);
/* Waits until `n` pairs have been sent. */
void pairs_await(struct pairs *pairs, int n);
struct pairs_seen pairs_end(struct pairs *pairs);

#endif

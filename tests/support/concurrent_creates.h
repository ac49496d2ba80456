/*
 * concurrent_creates - creates that come two at a time, in several replicas of the conversation
 * service.
 *
 * What     Threads in pairs: both of a pair send a create at the same moment, each with its own
 *          external id, for one new contact. Or for two, which is the same work without a race.
 *          The replicas are those of the stack and as many more as it takes; the metrics of all
 *          of them count alike.
 * Owns     Everything opened and begun must be ended; a test that fails leaves it to its process.
 * Threads  Its own; the functions are for the test's.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_CONCURRENT_CREATES_H
#define TESTS_SUPPORT_CONCURRENT_CREATES_H

#include "tests/support/api_client.h"

/* -- replicas -------------------------------------------------------------------------------- */

struct replicas;

struct replicas *replicas_open(int n);
/* A counter, in all of them. */
long long replicas_count(const struct replicas *replicas, const char *series);
void replicas_close(struct replicas *replicas);

/* How many deadlocks PostgreSQL has written about. */
int deadlocks_logged(void);

/* -- pairs ----------------------------------------------------------------------------------- */

struct pairs;

struct pairs_seen {
    int made;    /* 201 */
    int others;  /* any other answer, or none */
    int example; /* the status of one of those; 0 = no answer */
};

/* `per_second` pairs, as far as that can be had; 0 = as many as there can be. */
struct pairs *pairs_begin(const struct org *org, bool share_contact, int per_second);
/* Waits until so many pairs have been sent. */
void pairs_await(struct pairs *pairs, int n);
struct pairs_seen pairs_end(struct pairs *pairs);

#endif

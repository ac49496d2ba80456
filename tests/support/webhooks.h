/*
 * webhooks - endpoints, events and deliveries as the tests use them.
 *
 * Owns     Texts and JSON live until the process ends.
 * Threads  The test's.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_WEBHOOKS_H
#define TESTS_SUPPORT_WEBHOOKS_H

#include "tests/support/api_client.h"
#include "tests/support/receiver.h"

struct webhook {
    char id[37];
    char secret[80];
};

/* An endpoint for one event. */
void webhook_new(const struct org *org, const char *url, const char *event,
                 struct webhook *webhook);
/* A disabled endpoint for all events: without any endpoint, events need not be written. */
void webhook_watch(const struct org *org);
/* Its entry in the list of endpoints. */
const json_t *webhook_shown(const struct org *org, const struct webhook *webhook);
/* Waits until that many of its deliveries have left the queue. */
void webhook_await(const struct org *org, const struct webhook *webhook, int n, int timeout_ms);
/* The nth of its deliveries, newest first. */
const json_t *webhook_delivery(const struct org *org, const struct webhook *webhook, size_t nth);

/* Publishes the event of a ticket in an external system; returns the event's id. */
const char *publish_ticket(const struct org *org, const char *type, const char *id);
/* Stores `n` events directly in the table, all at once. */
void store_events(const struct org *org, const char *type, int n);
/* Sends a test event; waits for its outcome and returns that delivery. */
const json_t *webhook_test(const struct org *org, const struct webhook *webhook);

/* Keeps senders, and commands that change endpoints, from the queue, until it is unlocked. */
struct pg_conn *webhooks_lock_queue(void);
void webhooks_unlock_queue(struct pg_conn *lock);

/* "v1=..." as a receiver would make it. */
const char *signature_of(const char *secret, const struct received *received);

#endif

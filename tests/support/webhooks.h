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

/* For one event. */
void webhook_new(const struct org *org, const char *url, const char *event,
                 struct webhook *webhook);
/* One that is disabled, and wants every event: where there is none, an event need not be written. */
void webhook_watch(const struct org *org);
/* Its entry in the list; a member of it as text, number or "null". */
const json_t *webhook_shown(const struct org *org, const struct webhook *webhook);
/* Waits until that many of its deliveries have left the queue. */
void webhook_await(const struct org *org, const struct webhook *webhook, int n, int timeout_ms);
/* The nth of its deliveries, newest first. */
const json_t *webhook_delivery(const struct org *org, const struct webhook *webhook, size_t nth);

/* A ticket that is made somewhere else; its event's id. */
const char *publish_ticket(const struct org *org, const char *type, const char *id);
/* A test event; waits for what becomes of it and returns that delivery. */
const json_t *webhook_test(const struct org *org, const struct webhook *webhook);

/* "v1=..." as a receiver would make it. */
const char *signature_of(const char *secret, const struct received *received);

#endif

/*
 * hooks - the vocabulary of the tests of webhooks: endpoints, events, deliveries.
 *
 * Owns     Texts and JSON live until the process ends.
 * Threads  The test's.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_HOOKS_H
#define TESTS_SUPPORT_HOOKS_H

#include "tests/support/api.h"
#include "tests/support/receiver.h"

struct hook {
    char id[37];
    char secret[80];
};

/* For one event. */
void hook_new(const struct org *org, const char *url, const char *event, struct hook *hook);
/* Its entry in the list; a member of it as text, number or "null". */
const json_t *hook_shown(const struct org *org, const struct hook *hook);
/* Waits until that many of its deliveries have left the queue. */
void hook_await(const struct org *org, const struct hook *hook, int n, int timeout_ms);
/* The nth of its deliveries, newest first. */
const json_t *hook_delivery(const struct org *org, const struct hook *hook, size_t nth);
const char *text_of(const json_t *object, const char *member); /* "" when it is null */

/* A ticket that is made somewhere else; its event's id. */
const char *publish_ticket(const struct org *org, const char *type, const char *id);
/* A test event; waits for what becomes of it and returns that delivery. */
const json_t *hook_test(const struct org *org, const struct hook *hook);

/* "v1=..." as a receiver would make it. */
const char *signature_of(const char *secret, const struct received *received);

#endif

/*
 * raw_nats - a NATS client that speaks the text protocol itself, and so sees what
 * the server refuses.
 *
 * Owns     Close what you have opened.
 * Threads  One per client.
 * Fails    Fails the test; the server has 10 seconds for each answer.
 */
#ifndef TESTS_SUPPORT_RAW_NATS_H
#define TESTS_SUPPORT_RAW_NATS_H

#include <stdbool.h>
#include <stddef.h>

struct raw_nats {
    int fd, n_subscriptions;
    char in[64 * 1024]; /* bytes received since the last command */
    size_t n;
};

/* False: the server rejects this user and password. */
bool raw_nats_open(struct raw_nats *line, int port, const char *user, const char *password);
void raw_nats_close(struct raw_nats *line);

/* Whether the server accepts a message on that subject. The message is empty and its deadline has
   passed, so a receiver drops it. */
bool raw_nats_may_publish(struct raw_nats *line, const char *subject);
/* Whether it accepts a subscription, which is then removed; `group` NULL = no queue group. */
bool raw_nats_may_subscribe(struct raw_nats *line, const char *subject, const char *group);

/* Subscribes until the client is closed. */
void raw_nats_subscribe(struct raw_nats *line, const char *subject, const char *group);
/* Waits for a message on that subject. */
void raw_nats_await(struct raw_nats *line, const char *subject);
void raw_nats_publish(struct raw_nats *line, const char *subject, const char *reply_to);

#endif

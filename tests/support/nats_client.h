/*
 * nats_client - a client of the bus that speaks the text protocol of NATS itself, and so sees what
 * the server refuses, and headers as they are sent.
 *
 * Owns     Close every opened client.
 * Threads  One per client.
 * Fails    Fails the test; the server has 30 seconds for each reply.
 */
#ifndef TESTS_SUPPORT_NATS_CLIENT_H
#define TESTS_SUPPORT_NATS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct nats_client {
    int fd, n_subscriptions;
    char *in; /* received since the client was opened, or since the latest _may_ or _subscribe */
    size_t n, capacity;
};

/* False: the server rejects this user and password. */
bool nats_client_open(struct nats_client *client, int port, const char *user, const char *password);
/* Connects as the administrator of the stack's bus, who receives every message from then on. */
void nats_client_open_on_all(struct nats_client *client);
void nats_client_close(struct nats_client *client);

/* Whether the server accepts a message on that subject. The message is empty and its deadline has
   passed, so receivers drop it. */
bool nats_client_may_publish(struct nats_client *client, const char *subject);
/* Whether it accepts a subscription, which is then removed; `group` NULL = no queue group. */
bool nats_client_may_subscribe(struct nats_client *client, const char *subject, const char *group);

/* Subscribes until the client is closed. */
void nats_client_subscribe(struct nats_client *client, const char *subject, const char *group);
void nats_client_publish(struct nats_client *client, const char *subject, const char *reply_to);

/* Waits until a message on that subject, or a text, has been received. */
void nats_client_await(struct nats_client *client, const char *subject);
void nats_client_await_text(struct nats_client *client, const char *text);
bool nats_client_has(const struct nats_client *client, const char *text);

#endif

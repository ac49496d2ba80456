/*
 * service_client - sends commands to the services as the dashboard does, one at a time.
 *
 * Owns     Bodies live until the test's process ends.
 * Threads  One at a time for a client.
 * Fails    Fails the test when no reply arrives.
 */
#ifndef TESTS_SUPPORT_SERVICE_CLIENT_H
#define TESTS_SUPPORT_SERVICE_CLIENT_H

#include <jansson.h>
#include <stdint.h>

#include "proto/outcome.h"

struct service_client;

struct service_reply {
    enum outcome outcome;
    json_t *body;
    long retry_after; /* 0 = none */
    int64_t took_us;
};

struct service_client *service_client_open(void);
void service_client_close(struct service_client *client);

/* `organization` may be NULL; the body is made by printf. While no service answers, it retries
   for some seconds. */
struct service_reply service_client_call(struct service_client *client, const char *subject,
                                         const char *organization, const char *body, ...)
    __attribute__((format(printf, 4, 5)));
/* The same; the outcome must be ok. Returns the body. */
json_t *service_client_get(struct service_client *client, const char *subject,
                           const char *organization, const char *body, ...)
    __attribute__((format(printf, 4, 5)));

/* The string at a path such as "user.role"; fails when there is none. */
const char *reply_text(const json_t *body, const char *path);
long long reply_integer(const json_t *body, const char *path);
/* SHA-256 in hex. */
const char *token_hash_hex(const char *token);

#endif

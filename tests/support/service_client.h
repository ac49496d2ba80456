/*
 * service_client - sends commands to the services as the dashboard does, one at a time: its own,
 * those of a signed-in user, and those that create users and sign them in.
 *
 * Owns     Bodies live until the test's process ends.
 * Threads  One at a time per client.
 * Fails    Fails the test if no reply arrives.
 */
#ifndef TESTS_SUPPORT_SERVICE_CLIENT_H
#define TESTS_SUPPORT_SERVICE_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/outcome.h"
#include "tests/support/api_client.h"

struct service_client;

struct service_reply {
    enum outcome outcome;
    json_t *body;
    long retry_after; /* 0 = none */
    int64_t took_us;
};

struct service_client *service_client_open(void);
void service_client_close(struct service_client *client);

/* A client for a whole suite, which opens and closes it and shares the stack. */
extern struct service_client *service_connection;
void service_connection_open(void);
void service_connection_close(void);

/* `organization` may be NULL; the body is a printf format. While no service replies, it retries for
   some seconds. */
struct service_reply service_client_call(struct service_client *client, const char *subject,
                                         const char *organization, const char *body, ...)
    __attribute__((format(printf, 4, 5)));
/* The same; the outcome must be ok. Returns the body. */
json_t *service_client_get(struct service_client *client, const char *subject,
                           const char *organization, const char *body, ...)
    __attribute__((format(printf, 4, 5)));

/* -- on behalf of a user --------------------------------------------------------------------- */

struct signed_in_user {
    const char *user_id, *email, *address;
};

extern const struct signed_in_user some_user; /* a user of no particular organization */

struct service_reply service_client_call_as(struct service_client *client,
                                            const struct signed_in_user *user, const char *subject,
                                            const char *organization, const char *body);
/* The same; the outcome must be ok. Returns the body. */
json_t *service_client_get_as(struct service_client *client, const struct signed_in_user *user,
                              const char *subject, const char *organization, const char *body);

/* -- contents of a reply --------------------------------------------------------------------- */

/* The string at a path (api_client.h) such as "user.role"; fails the test if there is none. */
const char *reply_text(const json_t *body, const char *path);
long long reply_integer(const json_t *body, const char *path);
/* SHA-256 in hex. */
const char *token_hash_hex(const char *token);

/* -- users of the dashboard ------------------------------------------------------------------ */

#define USER_PASSWORD "correct horse battery"

struct dashboard_user {
    struct org org;
    char id[37], email[64], address[40];
};

/* An address that no other test uses, since attempts are counted by address. */
const char *dashboard_user_address(void);

/* Creates a user with USER_PASSWORD. */
json_t *dashboard_user_create(struct service_client *client, const char *org, const char *email,
                              const char *role);
/* Creates a user in a new organization. */
void dashboard_user_new(struct service_client *client, struct dashboard_user *user,
                        const char *role);
/* Creates another user in the same organization; `name` becomes part of the email. */
void dashboard_user_join(struct service_client *client, const struct dashboard_user *first,
                         struct dashboard_user *user, const char *name, const char *role);

struct service_reply dashboard_user_sign_in(struct service_client *client,
                                            const struct dashboard_user *user, const char *email,
                                            const char *password);
/* Starts a session; returns its token. */
const char *dashboard_user_session(struct service_client *client,
                                   const struct dashboard_user *user);
struct service_reply dashboard_user_session_check(struct service_client *client, const char *token);
bool dashboard_user_session_is_good(struct service_client *client, const char *token);

#endif

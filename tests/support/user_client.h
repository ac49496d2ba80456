/*
 * user_client - sends commands over the bus in the name of a signed-in user of the dashboard.
 *
 * Owns     The answers belong to the caller.
 * Threads  One at a time.
 * Fails    Fails the test when no reply arrives.
 */
#ifndef TESTS_SUPPORT_USER_CLIENT_H
#define TESTS_SUPPORT_USER_CLIENT_H

#include <jansson.h>

#include "proto/outcome.h"
#include "tests/support/api_client.h"

struct signed_in_user {
    const char *user_id, *email, *address;
};

extern const struct signed_in_user ada; /* a user of no particular organization */

/* The body of the reply; NULL when it is not JSON. */
json_t *user_client_call(const struct signed_in_user *user, const struct org *org,
                         const char *subject, const char *body, enum outcome *outcome);
/* The same; only the outcome. */
enum outcome user_client_outcome(const struct signed_in_user *user, const struct org *org,
                                 const char *subject, const char *body);
/* The same; the outcome must be ok. */
json_t *user_client_read(const struct org *org, const char *subject, const char *body);

#endif

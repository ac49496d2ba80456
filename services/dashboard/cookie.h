/*
 * cookie - the session's token in the Cookie header, and what sets and clears it.
 *
 * What     Over HTTPS the cookie is `__Host-session`, which no other host and no plain connection
 *          can set or read; without, on loopback, it is `session`. A request that brings two of
 *          them, or one that does not look like a token of ours, has none.
 * Threads  Any; pure.
 */
#ifndef DASHBOARD_COOKIE_H
#define DASHBOARD_COOKIE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/str.h"

#define COOKIE_TOKEN_TEXT 43 /* base64url of 32 bytes */
#define COOKIE_TEXT       160

/* `headers`: the Cookie headers. STR_NONE: no session. */
struct str cookie_token(const struct str *headers, size_t n, bool is_https);

bool cookie_is_token(struct str text);

/* The value of a Set-Cookie; STR_NONE clears it. */
void cookie_write(struct str token, bool is_https, char out[COOKIE_TEXT]);

#endif

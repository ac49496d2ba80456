/*
 * identity - by what a request shows whose it is: the cookie of its session, its origin, the token
 * that only our pages know, and the user whom access finds for the session.
 *
 * What     Over HTTPS the cookie is `__Host-session`, which no other host and no unencrypted
 *          connection can set or read; without HTTPS, on loopback, it is `session`. A request with
 *          two of them, or with one that does not look like our token, has no session.
 * Owns     An identity owns the tree that it points into, until identity_release().
 * Threads  Any; every function is pure.
 */
#ifndef SERVICES_DASHBOARD_IDENTITY_H
#define SERVICES_DASHBOARD_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/cell.h"
#include "common/base/status.h"
#include "common/base/str.h"
#include "common/crypto/crypto.h"
#include "common/json/json.h"

/* -- the cookie ------------------------------------------------------------------------------ */

#define COOKIE_TOKEN_TEXT 43 /* base64url of 32 bytes */
#define COOKIE_TEXT       160

/* `headers`: the Cookie headers. STR_NONE: no session. */
struct str cookie_token(const struct str *headers, size_t n, bool is_https);

bool cookie_is_token(struct str text);

/* The value of a Set-Cookie; STR_NONE clears it. */
void cookie_write(struct str token, bool is_https, char out[COOKIE_TEXT]);

/* -- where a request comes from -------------------------------------------------------------- */

/* Whether an Origin equals the request's own scheme and host. `null` never does. */
bool origin_is_own(struct str origin, bool is_https, struct str host);

/* Whether a Sec-Fetch-Site (STR_NONE if absent) shows that another site made the request. */
bool origin_is_foreign(struct str fetch_site);

/* The value that X-CSRF-Token must have for a change: hex SHA-256("csrf" || token). */
void dashboard_csrf_token(struct str token, char out[2 * SHA256_BYTES + 1]);

/* -- the signed-in user ---------------------------------------------------------------------- */

enum role { ROLE_MEMBER, ROLE_ADMIN, ROLE_OWNER };

struct identity {
    json_t *answer; /* to v1.access.session-check; NULL = none */
    const char *user_id, *email, *organization_id, *role_name;
    enum role role;
    char cell[CELL_CAPACITY]; /* the organization's */
};

/* False: a member is missing, or cannot be sent in a header. */
MUST_CHECK bool identity_read(struct str answer, struct identity *out);
void identity_release(struct identity *identity);

#endif

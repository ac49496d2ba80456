/*
 * api_auth - checks an API request before its command is sent.
 *
 * What     Reads the Authorization header and decides whether a request with a valid key may
 *          proceed. Stateless: api_authenticate.c and api_request.c call these functions and
 *          act on the results.
 * Owns     Nothing; slices point into the request.
 * Threads  Any; pure.
 */
#ifndef SERVICES_GATEWAY_API_AUTH_H
#define SERVICES_GATEWAY_API_AUTH_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/str.h"
#include "proto/outcome.h"
#include "services/gateway/api_route.h"
#include "services/gateway/key_cache.h"

/* -- the key --------------------------------------------------------------------------------- */

/* Well-formed: `Bearer` in any case, exactly one space, the token, no other characters, and exactly
   one header. */
enum authorization {
    AUTHORIZATION_MISSING,
    AUTHORIZATION_MALFORMED, /* not as described above, or with a wrong checksum */
    AUTHORIZATION_LEGACY,    /* a key of the retired kind */
    AUTHORIZATION_TOKEN,     /* well-formed: to be looked up */
};

/* `n` headers, of which `value` is the last. Sets *token for AUTHORIZATION_TOKEN only. */
enum authorization authorization_read(struct str value, size_t n, struct str *token);

/* -- the checks ------------------------------------------------------------------------------ */

/* The facts about a request, once its key is accepted. */
struct facts {
    const struct key_record *record;
    const struct api_route *route;
    struct address client;
    bool is_https;
    bool over_limit;
    bool accepts_json;
    bool sends_json;
    bool too_large;
};

/* OUTCOME_OK or a refusal. Checks plan, HTTPS, address, rate, path, method, Accept, scope,
   Content-Type and size, in that order; the first that fails decides. Framing and the key are
   checked before, the body after, both elsewhere. */
enum outcome checks_run(const struct facts *facts);

#endif

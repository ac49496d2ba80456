/*
 * api_auth - decides whether an API request may go on, before its command is sent.
 *
 * What     What the Authorization headers hold, and whether a request of a valid key may go on. No
 *          state: api_request.c asks, and acts on the answers.
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

/* `Bearer`, in any case, exactly one space, the token, nothing around it, one header. */
enum authorization {
    AUTHORIZATION_MISSING,
    AUTHORIZATION_MALFORMED, /* not as described above, or with a wrong checksum */
    AUTHORIZATION_LEGACY,    /* a key of the retired kind */
    AUTHORIZATION_TOKEN,     /* well-formed: worth a look-up */
};

/* `n` headers, of which `value` is the last. *token is set for AUTHORIZATION_TOKEN only. */
enum authorization authorization_read(struct str value, size_t n, struct str *token);

/* -- the checks ------------------------------------------------------------------------------ */

/* The facts of a request when its key has been accepted. */
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

/* OUTCOME_OK or a refusal. Plan, HTTPS, address, rate, path, method, Accept, scope, Content-Type,
   size: the first that fails is the answer. What comes before (framing, the key) and after (the
   body) is checked elsewhere. */
enum outcome checks_run(const struct facts *facts);

#endif

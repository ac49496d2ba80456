/*
 * secret - the secret that signs an endpoint's deliveries.
 *
 * What     "whsec_" and 64 hex digits; this text is the key of the HMAC. It is stored sealed, that
 *          is encrypted and bound to its organization and endpoint: it opens for no other one.
 * Owns     Texts live in the arena; the caller wipes an opened secret.
 * Threads  Any; pure, but for the random numbers.
 */
#ifndef SERVICES_WEBHOOK_SECRET_H
#define SERVICES_WEBHOOK_SECRET_H

#include "common/base/arena.h"
#include "common/base/uuid.h"
#include "common/crypto/crypto.h"

#define ENDPOINT_SECRET_TEXT 70

/* The first key seals and opens; the second, if any, only opens. */
struct secret_keys {
    struct crypto_key at[2];
    int n;
};

/* 64 hex digits each; `previous` may be empty. */
bool secret_keys_read(struct str current, struct str previous, struct secret_keys *out);

struct str secret_new(struct arena *arena);
/* In hex. */
struct str secret_seal(const struct secret_keys *keys, struct arena *arena,
                       const struct uuid *organization_id, const struct uuid *endpoint_id,
                       struct str secret);
/* False: it was sealed with another key or for another endpoint. */
bool secret_open(const struct secret_keys *keys, const struct uuid *organization_id,
                 const struct uuid *endpoint_id, struct str sealed_hex,
                 char secret[ENDPOINT_SECRET_TEXT]);
/* The secret sealed again with the first key, in hex. STR_NONE: not needed, or no key opens it. */
struct str secret_rekey(const struct secret_keys *keys, struct arena *arena,
                        const struct uuid *organization_id, const struct uuid *endpoint_id,
                        struct str sealed_hex);

#endif

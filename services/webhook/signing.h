/*
 * signing - the bytes of an event as receivers get them, their signature, and the secret that it is
 * made with.
 *
 * What     A secret is "whsec_" and 64 hex digits, the key of the HMAC as it stands. Sealed, for
 *          storage, it is bound to its organization and endpoint: it opens for no other one.
 * Owns     Texts live in the arena; the caller wipes an opened secret.
 * Threads  Any; pure, but for the random numbers.
 */
#ifndef SERVICES_WEBHOOK_SIGNING_H
#define SERVICES_WEBHOOK_SIGNING_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/uuid.h"
#include "common/crypto/crypto.h"
#include "services/webhook/attempts.h"

/* -- payloads ---------------------------------------------------------------------------------- */

/* {"id":"evt_...","type":...,"created_at":...,"data":{...}}: `id` is 32 hex digits, `data` is JSON.
 */
struct str payload_write(struct arena *arena, struct str id, struct str type, int64_t created_at,
                         struct str data);

/* "v1=" and HMAC-SHA-256, keyed with the whole secret, of timestamp, full stop and body. */
void payload_sign(struct arena *arena, struct str secret, int64_t timestamp, struct str body,
                  char signature[ATTEMPT_SIGNATURE + 1]);

/* -- secrets ----------------------------------------------------------------------------------- */

#define ENDPOINT_SECRET_TEXT 70

/* The first one seals; the second one, if any, opens as well. */
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
/* False: it was sealed with none of the keys, or for another endpoint. */
bool secret_open(const struct secret_keys *keys, const struct uuid *organization_id,
                 const struct uuid *endpoint_id, struct str sealed_hex,
                 char secret[ENDPOINT_SECRET_TEXT]);
/* The same secret sealed with the first key, in hex. STR_NONE: it is already, or no key opens it.
 */
struct str secret_rekey(const struct secret_keys *keys, struct arena *arena,
                        const struct uuid *organization_id, const struct uuid *endpoint_id,
                        struct str sealed_hex);

#endif

/*
 * keys - the key that signs blocks, and those that have signed before or will.
 *
 * Threads  Read-only after start, but for signing, which is the sealer's.
 */
#ifndef SERVICES_AUDIT_KEYS_H
#define SERVICES_AUDIT_KEYS_H

#include "common/crypto/signing.h"

#define AUDIT_KEYS_MAX 16

struct audit_keys {
    struct signing_key *own;
    struct signing_public known[AUDIT_KEYS_MAX]; /* the own one first */
    size_t n;
};

/* `previous` holds public keys in hex between commas. False (logged): one of them is malformed. */
MUST_CHECK bool audit_keys_read(const char *secret, const char *previous, struct audit_keys *out);
/* NULL: it is not a known one. */
const struct signing_public *audit_keys_find(const struct audit_keys *keys, struct str id);

#endif

/*
 * signing - Ed25519 signatures (RFC 8032), which anyone can verify with the public key.
 *
 * What     A key is made from a secret text, like those of cursors: its seed is the SHA-256 of that
 *          text. The id of a public key is the first 8 bytes of its SHA-256 in hex.
 * Owns     struct signing_key holds the private key until signing_key_free().
 * Threads  signing_make() by one thread at a time for each key; everything else by any.
 */
#ifndef COMMON_CRYPTO_SIGNING_H
#define COMMON_CRYPTO_SIGNING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/base/str.h"

#define SIGNING_SECRET_MIN      32
#define SIGNING_PUBLIC_BYTES    32
#define SIGNING_SIGNATURE_BYTES 64
#define SIGNING_ID_TEXT         16

struct signing_key;

struct signing_public {
    uint8_t bytes[SIGNING_PUBLIC_BYTES];
    char id[SIGNING_ID_TEXT + 1];
};

/* NULL: the secret is shorter than SIGNING_SECRET_MIN characters. */
struct signing_key *signing_key_new(const char *secret);
void signing_key_free(struct signing_key *key); /* NULL is fine */
const struct signing_public *signing_key_public(const struct signing_key *key);

void signing_make(struct signing_key *key, struct str data,
                  uint8_t signature[SIGNING_SIGNATURE_BYTES]);

/* Reads 64 hex digits in lower case. */
MUST_CHECK bool signing_public_read(struct str hex, struct signing_public *out);
bool signing_is_by(const struct signing_public *by, struct str data,
                   const uint8_t signature[SIGNING_SIGNATURE_BYTES]);

#endif

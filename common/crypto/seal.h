/*
 * seal - secrets that are kept where others may look: AES-256-GCM.
 *
 * What     A sealed secret is nonce 12 | ciphertext | tag 16. The context says whose it is (which
 *          organization, which endpoint): what was sealed for one place opens in no other.
 * Owns     Nothing; callers bring the storage and wipe what they opened.
 * Threads  Any.
 * Fails    seal_open() is false for what was altered, moved or sealed with another key.
 */
#ifndef COMMON_CRYPTO_SEAL_H
#define COMMON_CRYPTO_SEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/base/str.h"

#define SEAL_KEY_BYTES 32
#define SEAL_OVERHEAD  28

struct seal_key {
    uint8_t b[SEAL_KEY_BYTES];
};

/* From 64 hex digits in lower case. */
MUST_CHECK bool seal_key_read(struct str text, struct seal_key *out);

/* Writes secret.n + SEAL_OVERHEAD bytes. */
void seal(const struct seal_key *key, struct str context, struct str secret, uint8_t *sealed);
/* Writes n - SEAL_OVERHEAD bytes. */
MUST_CHECK bool seal_open(const struct seal_key *key, struct str context, const uint8_t *sealed,
                          size_t n, char *secret);

#endif

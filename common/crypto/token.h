/*
 * token - API keys: `svc_live_` or `svc_read_`, 32 random base62 characters, 6 characters of the
 * CRC-32 (of all before it, IEEE polynomial) in base62, so that a typing error or a made-up key is
 * told apart without asking anybody. Only its SHA-256 is ever stored or sent.
 *
 * Threads  Any; pure but for the random source.
 */
#ifndef COMMON_CRYPTO_TOKEN_H
#define COMMON_CRYPTO_TOKEN_H

#include "common/base/str.h"
#include "common/crypto/crypto.h"

#define TOKEN_TEXT 47 /* 9 + 32 + 6 */

enum token_kind {
    TOKEN_MALFORMED, /* wrong prefix, length, alphabet or checksum */
    TOKEN_LIVE,
    TOKEN_READ,
    TOKEN_LEGACY, /* `svc_test_` and anything behind it that does not end in a blank */
};

void token_make(enum token_kind kind, char text[TOKEN_TEXT + 1]);
enum token_kind token_classify(struct str token);
void token_hash(struct str token, uint8_t hash[SHA256_BYTES]);

#endif

/*
 * cursor - an opaque, signed position in a list, which a client sends to get the next page.
 *
 * What     base64url, unpadded, of
 *
 *            version 1 | expiry, Unix seconds 8 | position's length 1 | position 0-64 | MAC 32
 *
 *          The MAC is HMAC-SHA-256 over all bytes before it, followed by the binding: bytes that
 *          identify the list (operation, organization, filters, page size). The binding is not in
 *          the text; a cursor is valid only for the query that it came from. Its holder can decode
 *          the position, so keep secrets out of it.
 *          Two keys verify and the first one signs. To change keys on running replicas, deploy the
 *          new one as the second, then make it the first, and drop the old one 7 days later.
 * Owns     Nothing; the caller provides the memory. struct cursor_keys holds secrets.
 * Threads  Any; pure, the time is an argument.
 * Fails    cursor_read() is false for anything but a live cursor of ours for that binding; it gives
 *          no reason, and leaves its outputs untouched.
 */
#ifndef COMMON_CRYPTO_CURSOR_H
#define COMMON_CRYPTO_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/base/str.h"
#include "common/crypto/crypto.h"

#define CURSOR_SECRET_MIN   32
#define CURSOR_POSITION_MAX 64
#define CURSOR_TEXT_MAX     142 /* base64url of 1 + 8 + 1 + 64 + 32 bytes */
#define CURSOR_LIFE_S       (7 * 24 * 3600)
#define CURSOR_SKEW_S       (5 * 60) /* how far one replica's clock may be ahead of another's */

struct cursor_keys {
    uint8_t key[2][SHA256_BYTES];
    int n; /* 1 or 2 */
};

/* Makes the keys, the SHA-256 of secrets of CURSOR_SECRET_MIN characters or more, preferably
   random. `second` may be NULL or "". False: too short. */
MUST_CHECK bool cursor_keys_read(const char *first, const char *second, struct cursor_keys *out);

void cursor_make(const struct cursor_keys *keys, struct str binding, struct str position,
                 int64_t now_us, char text[CURSOR_TEXT_MAX + 1]);

MUST_CHECK bool cursor_read(const struct cursor_keys *keys, struct str binding, struct str text,
                            int64_t now_us, uint8_t position[CURSOR_POSITION_MAX], size_t *n);

#endif

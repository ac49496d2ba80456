#include "common/crypto/cursor.h"

#include <string.h>

#include "common/base/base64url.h"
#include "common/base/log.h"

enum { VERSION = 1, HEAD_BYTES = 1 + 8 + 1, PAYLOAD_MAX = HEAD_BYTES + CURSOR_POSITION_MAX };

bool cursor_keys_read(const char *first, const char *second, struct cursor_keys *out)
{
    const struct str secrets[2] = {str_of(first), str_of(second)};
    int n = secrets[1].n > 0 ? 2 : 1;

    for (int i = 0; i < n; i++) {
        if (secrets[i].n < CURSOR_SECRET_MIN)
            return false;
    }
    for (int i = 0; i < n; i++)
        crypto_sha256(secrets[i], out->key[i]);
    out->n = n;
    return true;
}

/* The binding is hashed first, so that its length in the message is fixed. */
static void sign(const uint8_t key[SHA256_BYTES], const uint8_t *payload, size_t n,
                 struct str binding, uint8_t mac[SHA256_BYTES])
{
    uint8_t message[PAYLOAD_MAX + SHA256_BYTES];

    memcpy(message, payload, n);
    crypto_sha256(binding, message + n);
    crypto_hmac_sha256((struct str){(const char *)key, SHA256_BYTES},
                       (struct str){(const char *)message, n + SHA256_BYTES}, mac);
}

void cursor_make(const struct cursor_keys *keys, struct str binding, struct str position,
                 int64_t now_us, char text[CURSOR_TEXT_MAX + 1])
{
    uint64_t expiry = (uint64_t)(now_us / 1000000 + CURSOR_LIFE_S);
    uint8_t bytes[PAYLOAD_MAX + SHA256_BYTES];
    size_t n = HEAD_BYTES + position.n;

    must(position.n <= CURSOR_POSITION_MAX);
    bytes[0] = VERSION;
    for (int i = 0; i < 8; i++)
        bytes[1 + i] = (uint8_t)(expiry >> (56 - 8 * i));
    bytes[9] = (uint8_t)position.n;
    if (position.n > 0)
        memcpy(bytes + HEAD_BYTES, position.p, position.n);
    sign(keys->key[0], bytes, n, binding, bytes + n);
    base64url_write(bytes, n + SHA256_BYTES, text);
}

static bool is_signed(const struct cursor_keys *keys, const uint8_t *payload, size_t n,
                      struct str binding, const uint8_t *mac)
{
    bool found = false;

    for (int i = 0; i < keys->n; i++) {
        uint8_t expected[SHA256_BYTES];

        sign(keys->key[i], payload, n, binding, expected);
        found |= crypto_equal(expected, mac, SHA256_BYTES);
    }
    return found;
}

/* False also for an expiry later than that of any cursor made now, which comes from a clock that
   was ahead. */
static bool is_live(uint64_t expiry, int64_t now_s)
{
    return now_s >= 0 && expiry > (uint64_t)now_s &&
           expiry <= (uint64_t)now_s + CURSOR_LIFE_S + CURSOR_SKEW_S;
}

bool cursor_read(const struct cursor_keys *keys, struct str binding, struct str text,
                 int64_t now_us, uint8_t position[CURSOR_POSITION_MAX], size_t *n)
{
    uint8_t bytes[PAYLOAD_MAX + SHA256_BYTES];
    uint64_t expiry = 0;
    size_t length = 0, payload;

    if (text.n > CURSOR_TEXT_MAX || !base64url_read(text, bytes, &length) ||
        length < HEAD_BYTES + SHA256_BYTES)
        return false;
    payload = length - SHA256_BYTES;
    if (bytes[0] != VERSION || payload != HEAD_BYTES + (size_t)bytes[9])
        return false;
    if (!is_signed(keys, bytes, payload, binding, bytes + payload))
        return false;
    for (int i = 0; i < 8; i++)
        expiry = expiry << 8 | bytes[1 + i];
    if (!is_live(expiry, now_us / 1000000))
        return false;
    *n = payload - HEAD_BYTES;
    memcpy(position, bytes + HEAD_BYTES, *n);
    return true;
}

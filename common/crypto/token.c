#include "common/crypto/token.h"

#include <string.h>

#include "common/base/ascii.h"
#include "common/base/log.h"

enum { PREFIX = 9, RANDOM = 32, CHECKED = PREFIX + RANDOM, CHECKSUM = TOKEN_TEXT - CHECKED };

static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* CRC-32 (IEEE 802.3), half a byte at a time. */
static uint32_t crc32(const char *p, size_t n)
{
    static const uint32_t half[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    };
    uint32_t crc = ~0u;

    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned char)p[i];
        crc = crc >> 4 ^ half[crc & 0xF];
        crc = crc >> 4 ^ half[crc & 0xF];
    }
    return ~crc;
}

/* Most significant digit first. */
static void write_checksum(const char *token, char out[CHECKSUM])
{
    uint32_t crc = crc32(token, CHECKED);

    for (int i = CHECKSUM - 1; i >= 0; i--) {
        out[i] = base62[crc % 62];
        crc /= 62;
    }
}

/* Every digit equally likely: bytes from 248 on, the rest of 256 by 62, are passed over. */
static void write_random(char out[RANDOM])
{
    uint8_t bytes[RANDOM];
    size_t n = 0;

    while (n < RANDOM) {
        crypto_random(bytes, sizeof(bytes));
        for (size_t i = 0; i < sizeof(bytes) && n < RANDOM; i++)
            if (bytes[i] < 248)
                out[n++] = base62[bytes[i] % 62];
    }
    crypto_wipe(bytes, sizeof(bytes));
}

void token_make(enum token_kind kind, char text[TOKEN_TEXT + 1])
{
    must(kind == TOKEN_LIVE || kind == TOKEN_READ);
    memcpy(text, kind == TOKEN_LIVE ? "svc_live_" : "svc_read_", PREFIX);
    write_random(text + PREFIX);
    write_checksum(text, text + CHECKED);
    text[TOKEN_TEXT] = '\0';
}

enum token_kind token_classify(struct str token)
{
    char checksum[CHECKSUM];
    enum token_kind kind;

    if (str_starts(token, STR("svc_test_")))
        return str_equal(str_trim_ows(token), token) ? TOKEN_LEGACY : TOKEN_MALFORMED;
    if (str_starts(token, STR("svc_live_")))
        kind = TOKEN_LIVE;
    else if (str_starts(token, STR("svc_read_")))
        kind = TOKEN_READ;
    else
        return TOKEN_MALFORMED;
    if (token.n != TOKEN_TEXT)
        return TOKEN_MALFORMED;
    for (size_t i = PREFIX; i < CHECKED; i++)
        if (!ascii_is_alphanumeric(token.p[i]))
            return TOKEN_MALFORMED;
    write_checksum(token.p, checksum);
    return memcmp(checksum, token.p + CHECKED, CHECKSUM) == 0 ? kind : TOKEN_MALFORMED;
}

void token_hash(struct str token, uint8_t hash[SHA256_BYTES])
{
    crypto_sha256(token, hash);
}

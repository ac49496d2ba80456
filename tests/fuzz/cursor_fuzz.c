/* Cursors from clients: text without a valid signature is refused, and text that our key has signed
   is read back unchanged, also as a place in a search. */
#include <string.h>

#include "common/base/base64url.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "services/audit/audit_query.h"
#include "services/search/search_query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define SECRET  "a key for cursors that is long enough for a fuzzer"
#define BINDING STR("search.conversations of somebody")

/* version, expiry, length of the position, position */
enum { EXPIRY_AT = 1, LENGTH_AT = 9, HEAD_BYTES = 10, PAYLOAD_MAX = HEAD_BYTES + 64 };

static const int64_t now_us = INT64_C(1800000000) * 1000000;
static struct cursor_keys keys;

static bool reads(struct str text, uint8_t position[CURSOR_POSITION_MAX], size_t *n)
{
    struct page_token token;
    bool is_read = cursor_read(&keys, BINDING, text, now_us, position, n);

    must(!is_read || *n <= CURSOR_POSITION_MAX);
    must(!page_token_read(text, &keys, BINDING, now_us, &token) || is_read);
    return is_read;
}

/* Each value has one spelling: decoded text is encoded the same. */
static void check_spelling(struct str text)
{
    uint8_t bytes[CURSOR_TEXT_MAX];
    char again[CURSOR_TEXT_MAX + 1];
    size_t n = 0;

    if (text.n > CURSOR_TEXT_MAX || !base64url_read(text, bytes, &n))
        return;
    must(n <= text.n * 3 / 4);
    must(base64url_write(bytes, n, again) == text.n);
    must(text.n == 0 || memcmp(again, text.p, text.n) == 0);
}

/* Signs as cursor.c does: the payload followed by the hash of the binding. */
static struct str sign(const uint8_t *payload, size_t n, char text[2 * CURSOR_TEXT_MAX])
{
    uint8_t message[PAYLOAD_MAX + SHA256_BYTES], bytes[PAYLOAD_MAX + SHA256_BYTES];

    memcpy(message, payload, n);
    memcpy(bytes, payload, n);
    crypto_sha256(BINDING, message + n);
    crypto_hmac_sha256((struct str){(const char *)keys.key[0], SHA256_BYTES},
                       (struct str){(const char *)message, n + SHA256_BYTES}, bytes + n);
    return (struct str){text, base64url_write(bytes, n + SHA256_BYTES, text)};
}

static bool is_live(const uint8_t *payload, size_t n)
{
    const uint64_t now_s = (uint64_t)now_us / 1000000;
    uint64_t expiry = 0;

    if (n < HEAD_BYTES || payload[0] != 1 || n != HEAD_BYTES + (size_t)payload[LENGTH_AT])
        return false;
    for (int i = 0; i < 8; i++)
        expiry = expiry << 8 | payload[EXPIRY_AT + i];
    return expiry > now_s && expiry <= now_s + CURSOR_LIFE_S + CURSOR_SKEW_S;
}

/* The input is the payload of a cursor with a valid signature. */
static void check_signed(const uint8_t *payload, size_t n)
{
    char text[2 * CURSOR_TEXT_MAX], again[CURSOR_TEXT_MAX + 1];
    uint8_t position[CURSOR_POSITION_MAX];
    struct str cursor = sign(payload, n, text);
    struct page_token token;
    size_t length = 0;

    must(reads(cursor, position, &length) == is_live(payload, n));
    if (!is_live(payload, n))
        return;
    must(length == payload[LENGTH_AT] && memcmp(position, payload + HEAD_BYTES, length) == 0);
    if (!page_token_read(cursor, &keys, BINDING, now_us, &token))
        return;
    page_token_write(&token, &keys, BINDING, now_us, again);
    must(cursor_read(&keys, BINDING, str_of(again), now_us, position, &length));
    must(memcmp(position, payload + HEAD_BYTES, length) == 0);
}

/* A page of the audit log begins after the place in the cursor: an id, or an id and a time. */
static void check_page(struct str position)
{
    char text[CURSOR_TEXT_MAX + 1];
    struct page_place place;

    cursor_make(&keys, BINDING, position, clock_us(), text);
    must(page_read(&keys, BINDING, str_of(text), &place) ==
         (position.n == sizeof(place.id) || position.n == sizeof(place.id) + sizeof(place.us)));
    must(!page_read(&keys, STR("another list"), str_of(text), &place));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct str text = {(const char *)data, n};
    uint8_t position[CURSOR_POSITION_MAX];
    size_t length = 0;

    if (keys.n == 0)
        must(cursor_keys_read(SECRET, NULL, &keys));
    must(!reads(text, position, &length)); /* the fuzzer cannot guess a signature */
    check_spelling(text);
    check_signed(data, n < PAYLOAD_MAX ? n : PAYLOAD_MAX);
    check_page((struct str){text.p, n < CURSOR_POSITION_MAX ? n : CURSOR_POSITION_MAX});
    return 0;
}

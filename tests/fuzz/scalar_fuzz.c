/* Numbers, ids, times and encoded text: each reader is compared with a second implementation, and a
   value that was read is written and read back the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/text.h"
#include "common/base/uuid.h"
#include "common/crypto/crypto.h"
#include "common/crypto/signing.h"
#include "proto/outcome.h"
#include "services/audit/audit_query.h"
#include "services/audit/chain.h"
#include "tests/fuzz/fuzz.h"

enum { TEXT_MAX = 128 };

/* A NUL-terminated copy; NULL: the text has a zero byte or is too long. */
static const char *c_string(struct str text)
{
    static char copy[TEXT_MAX + 1];

    if (text.n > TEXT_MAX || memchr(text.p, '\0', text.n) != NULL)
        return NULL;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    return copy;
}

static void check_number(struct str text)
{
    const char *copy = c_string(text);
    uint64_t value = 0, tight = 0;
    bool is_number = str_to_u64(text, UINT64_MAX, &value);
    unsigned long long expected;
    char *end;

    if (copy == NULL)
        return;
    errno = 0;
    expected = strtoull(copy, &end, 10);
    must(is_number == (ascii_is_digit(copy[0]) && *end == '\0' && errno == 0));
    if (!is_number)
        return;
    must(value == expected && str_to_u64(text, value, &tight) && tight == value);
    must(value == 0 || !str_to_u64(text, value - 1, &tight));
}

static void check_time(struct str text)
{
    const char *copy = c_string(text);
    int64_t us = 0;

    if (!chain_read_us(text, &us))
        return;
    must(copy != NULL || text.n > TEXT_MAX);
    must(copy == NULL || strtoll(copy, NULL, 10) == us);
}

static void check_id(struct str text)
{
    char again[UUID_TEXT + 1];
    struct page_place place;
    struct uuid id;

    if (uuid_parse(text, &id)) {
        uuid_format(&id, again);
        must(str_equal(text, str_of(again)));
    }
    if (page_read_text(text, &place)) {
        must(place.us >= 0 && text.n >= UUID_TEXT);
        uuid_format(&place.id, again);
        must(str_starts(text, str_of(again)));
    }
}

static void check_hex(struct str text)
{
    uint8_t bytes[TEXT_MAX];
    char again[2 * TEXT_MAX + 1];
    struct signing_public public;
    struct crypto_key key;

    if (text.n / 2 <= TEXT_MAX && hex_read(text, bytes, text.n / 2)) {
        hex_write(bytes, text.n / 2, again);
        must(str_equal(text, str_of(again)));
    }
    if (signing_public_read(text, &public))
        must(text.n == 2 * SIGNING_PUBLIC_BYTES && strlen(public.id) == SIGNING_ID_TEXT);
    if (crypto_key_read(text, &key)) {
        hex_write(key.b, sizeof(key.b), again);
        must(str_equal(text, str_of(again)));
    }
}

/* If every byte is percent-encoded, the text decodes to itself. */
static void check_form(struct str text)
{
    char decoded[TEXT_MAX], encoded[3 * TEXT_MAX], again[TEXT_MAX];
    struct str value, same;
    size_t n = 0;

    if (!text_decode_form(text, decoded, sizeof(decoded), &value))
        return;
    must(value.n <= text.n && text_is_utf8(value) && !text_has_nul(value));
    for (size_t i = 0; i < value.n; i++) {
        encoded[n++] = '%';
        encoded[n++] = hex_digit((unsigned char)value.p[i] >> 4);
        encoded[n++] = hex_digit((unsigned char)value.p[i] & 0xf);
    }
    must(text_decode_form((struct str){encoded, n}, again, sizeof(again), &same));
    must(str_equal(value, same));
}

static void check_names(struct str text)
{
    enum outcome outcome;
    enum operation operation;

    if (outcome_of(text, &outcome))
        must(str_equal(text, str_of(outcome_name(outcome))));
    if (operation_of(text, &operation))
        must(str_equal(text, str_of(operation_name(operation))));
}

/* A stored hash determines the cost of checking a password; only the cheapest is checked here. */
static void check_password(struct str text)
{
    const char *copy = c_string(text);

    if (copy == NULL)
        return;
    (void)crypto_password_is_dated(copy);
    if (str_starts(text, STR("scrypt$1$1$1$")))
        (void)crypto_password_matches(STR("a password"), copy);
    else if (!str_starts(text, STR("scrypt$")))
        must(!crypto_password_matches(STR("a password"), copy));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct str text = {(const char *)data, n};

    check_number(text);
    check_time(text);
    check_id(text);
    check_hex(text);
    check_form(text);
    check_names(text);
    check_password(text);
    return 0;
}

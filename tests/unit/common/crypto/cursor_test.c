#include "common/crypto/cursor.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define KEY_A "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define KEY_B "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"

static const int64_t noon_us = 1800000000LL * 1000000;
static const int64_t life_us = CURSOR_LIFE_S * 1000000LL;

static struct cursor_keys keys_of(const char *first, const char *second)
{
    struct cursor_keys keys;

    cr_assert(cursor_keys_read(first, second, &keys));
    return keys;
}

static bool reads(const struct cursor_keys *keys, const char *binding, struct str text,
                  int64_t now_us)
{
    uint8_t position[CURSOR_POSITION_MAX];
    size_t n = 0;

    return cursor_read(keys, str_of(binding), text, now_us, position, &n);
}

Test(cursor, comes_back_with_its_position_at_every_length)
{
    struct cursor_keys keys = keys_of(KEY_A, NULL);
    char bytes[CURSOR_POSITION_MAX];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 37 + 1);
    for (size_t length = 0; length <= CURSOR_POSITION_MAX; length++) {
        uint8_t position[CURSOR_POSITION_MAX];
        char text[CURSOR_TEXT_MAX + 1];
        size_t n = 999;

        cursor_make(&keys, STR("list"), (struct str){bytes, length}, noon_us, text);
        cr_assert_leq(strlen(text), CURSOR_TEXT_MAX);
        cr_assert_eq(
            strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            strlen(text));
        cr_assert(cursor_read(&keys, STR("list"), str_of(text), noon_us, position, &n));
        cr_assert_eq(n, length);
        cr_assert_arr_eq(position, bytes, length);
    }
}

Test(cursor, the_longest_text_is_as_long_as_the_header_says)
{
    struct cursor_keys keys = keys_of(KEY_A, NULL);
    char bytes[CURSOR_POSITION_MAX] = {0}, text[CURSOR_TEXT_MAX + 1];

    cursor_make(&keys, STR("list"), (struct str){bytes, sizeof(bytes)}, noon_us, text);
    cr_assert_eq(strlen(text), CURSOR_TEXT_MAX);
}

Test(cursor, is_refused_for_another_binding)
{
    struct cursor_keys keys = keys_of(KEY_A, NULL);
    char text[CURSOR_TEXT_MAX + 1];

    cursor_make(&keys, STR("list"), STR("here"), noon_us, text);
    cr_assert(reads(&keys, "list", str_of(text), noon_us));
    cr_assert_not(reads(&keys, "lisT", str_of(text), noon_us));
    cr_assert_not(reads(&keys, "", str_of(text), noon_us));
    cr_assert_not(reads(&keys, "list ", str_of(text), noon_us));
}

Test(cursor, is_refused_when_any_one_bit_is_altered)
{
    struct cursor_keys keys = keys_of(KEY_A, KEY_B);
    char text[CURSOR_TEXT_MAX + 1];

    cursor_make(&keys, STR("list"), STR("here"), noon_us, text);
    for (size_t i = 0; i < strlen(text); i++) {
        for (int bit = 0; bit < 8; bit++) {
            char altered[CURSOR_TEXT_MAX + 1];

            memcpy(altered, text, sizeof(text));
            altered[i] = (char)(altered[i] ^ 1 << bit);
            cr_assert_not(reads(&keys, "list", (struct str){altered, strlen(text)}, noon_us),
                          "byte %zu, bit %d", i, bit);
        }
    }
}

Test(cursor, is_refused_when_cut_lengthened_or_padded)
{
    struct cursor_keys keys = keys_of(KEY_A, NULL);
    char text[CURSOR_TEXT_MAX + 1], longer[CURSOR_TEXT_MAX + 8], huge[4096];

    cursor_make(&keys, STR("list"), STR("here"), noon_us, text);
    for (size_t n = 0; n < strlen(text); n++)
        cr_assert_not(reads(&keys, "list", (struct str){text, n}, noon_us), "%zu bytes", n);
    for (const char *tail = "A=-_ \n"; *tail != '\0'; tail++) {
        size_t n = (size_t)snprintf(longer, sizeof(longer), "%s%c", text, *tail);

        cr_assert_not(reads(&keys, "list", (struct str){longer, n}, noon_us), "tail %c", *tail);
    }
    memset(huge, 'A', sizeof(huge));
    cr_assert_not(reads(&keys, "list", (struct str){huge, sizeof(huge)}, noon_us));
    cr_assert_not(reads(&keys, "list", STR_NONE, noon_us));
}

Test(cursor, lives_seven_days_and_not_a_second_longer)
{
    struct cursor_keys keys = keys_of(KEY_A, NULL);
    char text[CURSOR_TEXT_MAX + 1];

    cursor_make(&keys, STR("list"), STR("here"), noon_us, text);
    cr_assert(reads(&keys, "list", str_of(text), noon_us + life_us - 1));
    cr_assert_not(reads(&keys, "list", str_of(text), noon_us + life_us));
}

Test(cursor, is_refused_from_a_clock_that_was_ahead)
{
    const int64_t ahead_us = noon_us + CURSOR_SKEW_S * 1000000LL;
    struct cursor_keys keys = keys_of(KEY_A, NULL);
    char text[CURSOR_TEXT_MAX + 1];

    cursor_make(&keys, STR("list"), STR("here"), ahead_us, text);
    cr_assert(reads(&keys, "list", str_of(text), noon_us));
    cr_assert_not(reads(&keys, "list", str_of(text), noon_us - 1000000));
    cursor_make(&keys, STR("list"), STR("here"), noon_us + 8 * 24 * 3600 * 1000000LL, text);
    cr_assert_not(reads(&keys, "list", str_of(text), noon_us));
    cr_assert_not(reads(&keys, "list", str_of(text), INT64_MIN));
}

Test(cursor, the_second_key_verifies_and_the_first_signs)
{
    struct cursor_keys only_a = keys_of(KEY_A, ""), only_b = keys_of(KEY_B, NULL);
    struct cursor_keys both = keys_of(KEY_B, KEY_A);
    char old[CURSOR_TEXT_MAX + 1], new[CURSOR_TEXT_MAX + 1];

    cursor_make(&only_a, STR("list"), STR("here"), noon_us, old);
    cursor_make(&both, STR("list"), STR("here"), noon_us, new);
    cr_assert(reads(&both, "list", str_of(old), noon_us));
    cr_assert(reads(&both, "list", str_of(new), noon_us));
    cr_assert(reads(&only_b, "list", str_of(new), noon_us));
    cr_assert_not(reads(&only_b, "list", str_of(old), noon_us));
}

Test(cursor, secrets_that_are_too_short_are_refused)
{
    struct cursor_keys keys = {.n = 77};

    cr_assert_not(cursor_keys_read(NULL, NULL, &keys));
    cr_assert_not(cursor_keys_read("", NULL, &keys));
    cr_assert_not(cursor_keys_read("0123456789012345678901234567890", NULL, &keys));
    cr_assert_not(cursor_keys_read(KEY_A, "short", &keys));
    cr_assert_eq(keys.n, 77);
}

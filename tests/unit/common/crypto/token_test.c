#include "common/crypto/token.h"

#include <criterion/criterion.h>
#include <string.h>

/* Checksums computed with another program. */
#define LIVE "svc_live_0123456789abcdefghijABCDEFGHIJ010eVNbf"
#define READ "svc_read_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz36Js8D"

Test(token, knows_good_ones)
{
    cr_assert_eq(token_classify(STR(LIVE)), TOKEN_LIVE);
    cr_assert_eq(token_classify(STR(READ)), TOKEN_READ);
}

Test(token, makes_what_it_accepts)
{
    char text[TOKEN_TEXT + 1], other[TOKEN_TEXT + 1];

    for (int i = 0; i < 1000; i++) {
        token_make(TOKEN_LIVE, text);
        cr_assert_eq(strlen(text), TOKEN_TEXT);
        cr_assert_eq(token_classify(str_of(text)), TOKEN_LIVE, "%s", text);
        token_make(TOKEN_READ, other);
        cr_assert_eq(token_classify(str_of(other)), TOKEN_READ, "%s", other);
        cr_assert_str_neq(text + 9, other + 9);
    }
}

Test(token, makes_use_of_the_whole_alphabet)
{
    bool seen[128] = {false};
    char text[TOKEN_TEXT + 1];
    int distinct = 0;

    for (int i = 0; i < 200; i++) {
        token_make(TOKEN_LIVE, text);
        for (int k = 9; k < 41; k++)
            seen[(unsigned char)text[k]] = true;
    }
    for (int c = 0; c < 128; c++)
        distinct += seen[c];
    cr_assert_eq(distinct, 62);
}

Test(token, any_single_other_character_is_noticed)
{
    for (size_t at = 0; at < TOKEN_TEXT; at++) {
        for (int c = 0; c < 256; c++) {
            char text[] = LIVE;

            if (text[at] == (char)c)
                continue;
            text[at] = (char)c;
            if (token_classify((struct str){text, TOKEN_TEXT}) != TOKEN_MALFORMED)
                cr_assert_fail("byte %d at %zu", c, at);
        }
    }
}

Test(token, scope_is_part_of_what_is_checked)
{
    cr_assert_eq(token_classify(STR("svc_read_0123456789abcdefghijABCDEFGHIJ010eVNbf")),
                 TOKEN_MALFORMED);
}

Test(token, other_lengths_are_malformed)
{
    cr_assert_eq(token_classify(STR_NONE), TOKEN_MALFORMED);
    cr_assert_eq(token_classify(STR("")), TOKEN_MALFORMED);
    cr_assert_eq(token_classify(STR("svc_live_")), TOKEN_MALFORMED);
    cr_assert_eq(token_classify(STR(LIVE "0")), TOKEN_MALFORMED);
    cr_assert_eq(token_classify(STR(" " LIVE)), TOKEN_MALFORMED);
    cr_assert_eq(token_classify((struct str){LIVE, TOKEN_TEXT - 1}), TOKEN_MALFORMED);
}

Test(token, the_retired_prefix_is_told_apart)
{
    cr_assert_eq(token_classify(STR("svc_test_")), TOKEN_LEGACY);
    cr_assert_eq(token_classify(STR("svc_test_whatever it is")), TOKEN_LEGACY);
    cr_assert_eq(token_classify(STR("svc_test_padded ")), TOKEN_MALFORMED);
    cr_assert_eq(token_classify(STR("svc_test_padded\t")), TOKEN_MALFORMED);
    cr_assert_eq(token_classify(STR("svc_tes")), TOKEN_MALFORMED);
    cr_assert_eq(token_classify(STR("SVC_TEST_a")), TOKEN_MALFORMED);
}

Test(token, its_hash_is_sha256_of_its_text)
{
    uint8_t a[SHA256_BYTES], b[SHA256_BYTES];

    token_hash(STR(LIVE), a);
    crypto_sha256(STR(LIVE), b);
    cr_assert(crypto_equal(a, b, sizeof(a)));
}

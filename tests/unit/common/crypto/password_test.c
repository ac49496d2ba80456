#include <criterion/criterion.h>
#include <string.h>

#include "common/crypto/crypto.h"

Test(password, matches_itself_and_nothing_else)
{
    char hash[CRYPTO_PASSWORD_TEXT];

    crypto_password_hash(STR("correct horse"), hash);
    cr_assert_eq(strncmp(hash, "scrypt$15$8$3$", 14), 0, "%s", hash);
    cr_assert_eq(strlen(hash), 14 + 32 + 1 + 64);
    cr_assert(crypto_password_matches(STR("correct horse"), hash));
    cr_assert_not(crypto_password_matches(STR("correct horse "), hash));
    cr_assert_not(crypto_password_matches(STR("Correct horse"), hash));
    cr_assert_not(crypto_password_matches(STR(""), hash));
}

Test(password, hashes_differ_by_their_salt)
{
    char a[CRYPTO_PASSWORD_TEXT], b[CRYPTO_PASSWORD_TEXT];

    crypto_password_hash(STR("same"), a);
    crypto_password_hash(STR("same"), b);
    cr_assert_str_neq(a, b);
}

/* Made with another program: N=1024, r=8, p=4. */
#define OTHER_TAIL                                                                                 \
    "$000102030405060708090a0b0c0d0e0f"                                                            \
    "$871a0d000e6429dd131cebcd55e85a64c0bd6b3393084f5c33701d46c2374bd3"
#define OTHER_HASH "scrypt$10$8$4" OTHER_TAIL

Test(password, verifies_hashes_of_other_costs)
{
    cr_assert(crypto_password_matches(STR("password"), OTHER_HASH));
    cr_assert_not(crypto_password_matches(STR("Password"), OTHER_HASH));
}

Test(password, matches_nothing_that_is_not_a_hash)
{
    static const char *const bad[] = {
        "",
        "scrypt",
        "scrypt$15$8$1$00$00",
        "bcrypt$10$8$4" OTHER_TAIL,
        "scrypt$0$8$4" OTHER_TAIL,
        "scrypt$10$0$4" OTHER_TAIL,
        "scrypt$10$8$0" OTHER_TAIL,
        "scrypt$63$8$4" OTHER_TAIL,   /* would take all memory */
        "scrypt$10$8$999" OTHER_TAIL, /* would take all day */
        "scrypt$20$1$1" OTHER_TAIL,   /* no valid parameters: N too large for r */
        "scrypt$10$8$4" OTHER_TAIL "0",
        "scrypt$10$8$4" OTHER_TAIL "$",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert_not(crypto_password_matches(STR("password"), bad[i]), "%s", bad[i]);
    cr_assert_not(crypto_password_matches(STR("password"), NULL));
}

Test(password, is_dated_when_hashing_it_cost_less)
{
    char hash[CRYPTO_PASSWORD_TEXT];

    crypto_password_hash(STR("correct horse battery"), hash);
    cr_expect_not(crypto_password_is_dated(hash));
    cr_expect(crypto_password_is_dated("scrypt$15$8$1" OTHER_TAIL));
    cr_expect(crypto_password_is_dated("scrypt$1$8$1" OTHER_TAIL));
    cr_expect_not(crypto_password_is_dated("scrypt$16$8$2" OTHER_TAIL));
    cr_expect(crypto_password_is_dated("argon2id$"));
}

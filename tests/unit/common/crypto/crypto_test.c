#include <criterion/criterion.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/crypto/crypto.h"

static const char *hex(const uint8_t digest[SHA256_BYTES])
{
    static char text[2 * SHA256_BYTES + 1];

    hex_write(digest, SHA256_BYTES, text);
    return text;
}

Test(crypto, sha256_gives_the_published_digests)
{
    uint8_t digest[SHA256_BYTES];

    crypto_sha256(STR("abc"), digest);
    cr_assert_str_eq(hex(digest),
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    crypto_sha256(STR_NONE, digest);
    cr_assert_str_eq(hex(digest),
                     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* RFC 4231, test cases 2 and 6. */
Test(crypto, hmac_gives_the_published_codes)
{
    static char long_key[131];
    uint8_t mac[SHA256_BYTES];

    crypto_hmac_sha256(STR("Jefe"), STR("what do ya want for nothing?"), mac);
    cr_assert_str_eq(hex(mac), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(long_key, 0xAA, sizeof(long_key));
    crypto_hmac_sha256((struct str){long_key, sizeof(long_key)},
                       STR("Test Using Larger Than Block-Size Key - Hash Key First"), mac);
    cr_assert_str_eq(hex(mac), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

Test(crypto, hmac_takes_an_empty_key_and_empty_data)
{
    uint8_t mac[SHA256_BYTES];

    crypto_hmac_sha256(STR_NONE, STR_NONE, mac);
    cr_assert_str_eq(hex(mac), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

Test(crypto, random_bytes_do_not_repeat)
{
    uint8_t a[32] = {0}, b[32] = {0};

    crypto_random(a, sizeof(a));
    crypto_random(b, sizeof(b));
    cr_assert_not(crypto_equal(a, b, sizeof(a)));
}

Test(crypto, compares_every_byte)
{
    uint8_t a[16] = {0}, b[16] = {0};

    cr_assert(crypto_equal(a, b, sizeof(a)));
    b[15] = 1;
    cr_assert_not(crypto_equal(a, b, sizeof(a)));
    cr_assert(crypto_equal(a, b, 15));
}

Test(crypto, wipes)
{
    char secret[8] = "secret!";

    crypto_wipe(secret, sizeof(secret));
    cr_assert_eq(memcmp(secret, (char[8]){0}, sizeof(secret)), 0);
}

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

/* Computed with another program: N=1024, r=8, p=4. */
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
        "scrypt$63$8$4" OTHER_TAIL,   /* takes too much memory */
        "scrypt$10$8$999" OTHER_TAIL, /* takes too long */
        "scrypt$20$1$1" OTHER_TAIL,   /* no valid parameters: N too large for r */
        "scrypt$10$8$4" OTHER_TAIL "0",
        "scrypt$10$8$4" OTHER_TAIL "$",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
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

/* Checksums computed with another program. */
#define LIVE "svc_live_0123456789abcdefghijABCDEFGHIJ010eVNbf"
#define READ "svc_read_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz36Js8D"

Test(token, knows_good_ones)
{
    cr_assert_eq(token_classify(STR(LIVE)), TOKEN_LIVE);
    cr_assert_eq(token_classify(STR(READ)), TOKEN_READ);
}

Test(token, generates_keys_that_it_accepts)
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

Test(token, the_retired_prefix_is_recognized)
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

enum { N = 11 };

static const struct str secret = {"whsec_abcde", N};
static const struct crypto_key key = {{1, 2, 3}}, other_key = {{1, 2, 4}};

Test(crypto, seal_opens_what_it_sealed)
{
    uint8_t sealed[N + CRYPTO_SEAL_OVERHEAD];
    char opened[N];

    crypto_seal(&key, STR("here"), secret, sealed);
    cr_assert(crypto_unseal(&key, STR("here"), sealed, sizeof(sealed), opened));
    cr_assert_arr_eq(opened, secret.p, N);
}

Test(crypto, seal_opens_nowhere_else_and_with_no_other_key)
{
    uint8_t sealed[N + CRYPTO_SEAL_OVERHEAD];
    char opened[N];

    crypto_seal(&key, STR("here"), secret, sealed);
    cr_assert_not(crypto_unseal(&key, STR("there"), sealed, sizeof(sealed), opened));
    cr_assert_not(crypto_unseal(&other_key, STR("here"), sealed, sizeof(sealed), opened));
}

Test(crypto, seal_opens_nothing_that_was_altered)
{
    uint8_t sealed[N + CRYPTO_SEAL_OVERHEAD];
    char opened[N];

    crypto_seal(&key, STR("here"), secret, sealed);
    for (size_t i = 0; i < sizeof(sealed); i++) {
        sealed[i] ^= 1;
        cr_expect_not(crypto_unseal(&key, STR("here"), sealed, sizeof(sealed), opened), "byte %zu",
                      i);
        sealed[i] ^= 1;
    }
    cr_assert_not(crypto_unseal(&key, STR("here"), sealed, sizeof(sealed) - 1, opened));
    cr_assert_not(crypto_unseal(&key, STR("here"), sealed, CRYPTO_SEAL_OVERHEAD - 1, opened));
    cr_assert(crypto_unseal(&key, STR("here"), sealed, sizeof(sealed), opened));
}

Test(crypto, seal_never_seals_twice_alike)
{
    uint8_t one[N + CRYPTO_SEAL_OVERHEAD], other[N + CRYPTO_SEAL_OVERHEAD];

    crypto_seal(&key, STR("here"), secret, one);
    crypto_seal(&key, STR("here"), secret, other);
    cr_assert_neq(memcmp(one, other, sizeof(one)), 0);
}

Test(crypto, seal_reads_keys_of_64_digits_only)
{
    struct crypto_key read;

    cr_assert(crypto_key_read(
        STR("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"), &read));
    cr_assert_eq(read.b[31], 0xff);
    cr_assert_not(crypto_key_read(STR("0011"), &read));
    cr_assert_not(crypto_key_read(STR(""), &read));
    cr_assert_not(crypto_key_read(
        STR("zz112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"), &read));
}

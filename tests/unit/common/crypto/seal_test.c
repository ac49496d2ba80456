#include "common/crypto/seal.h"

#include <criterion/criterion.h>
#include <string.h>

enum { N = 11 };

static const struct str secret = {"whsec_abcde", N};
static const struct seal_key key = {{1, 2, 3}}, other_key = {{1, 2, 4}};

Test(seal, opens_what_it_sealed)
{
    uint8_t sealed[N + SEAL_OVERHEAD];
    char opened[N];

    seal(&key, STR("here"), secret, sealed);
    cr_assert(seal_open(&key, STR("here"), sealed, sizeof(sealed), opened));
    cr_assert_arr_eq(opened, secret.p, N);
}

Test(seal, opens_nowhere_else_and_with_no_other_key)
{
    uint8_t sealed[N + SEAL_OVERHEAD];
    char opened[N];

    seal(&key, STR("here"), secret, sealed);
    cr_assert_not(seal_open(&key, STR("there"), sealed, sizeof(sealed), opened));
    cr_assert_not(seal_open(&other_key, STR("here"), sealed, sizeof(sealed), opened));
}

Test(seal, opens_nothing_that_was_altered)
{
    uint8_t sealed[N + SEAL_OVERHEAD];
    char opened[N];

    seal(&key, STR("here"), secret, sealed);
    for (size_t i = 0; i < sizeof(sealed); i++) {
        sealed[i] ^= 1;
        cr_expect_not(seal_open(&key, STR("here"), sealed, sizeof(sealed), opened), "byte %zu", i);
        sealed[i] ^= 1;
    }
    cr_assert_not(seal_open(&key, STR("here"), sealed, sizeof(sealed) - 1, opened));
    cr_assert_not(seal_open(&key, STR("here"), sealed, SEAL_OVERHEAD - 1, opened));
    cr_assert(seal_open(&key, STR("here"), sealed, sizeof(sealed), opened));
}

Test(seal, never_seals_twice_alike)
{
    uint8_t one[N + SEAL_OVERHEAD], other[N + SEAL_OVERHEAD];

    seal(&key, STR("here"), secret, one);
    seal(&key, STR("here"), secret, other);
    cr_assert_neq(memcmp(one, other, sizeof(one)), 0);
}

Test(seal, reads_keys_of_64_digits_only)
{
    struct seal_key read;

    cr_assert(seal_key_read(STR("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"),
                            &read));
    cr_assert_eq(read.b[31], 0xff);
    cr_assert_not(seal_key_read(STR("0011"), &read));
    cr_assert_not(seal_key_read(STR(""), &read));
    cr_assert_not(seal_key_read(
        STR("zz112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"), &read));
}

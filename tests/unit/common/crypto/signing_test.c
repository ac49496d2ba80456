#include "common/base/ascii.h"
#include "common/crypto/signing.h"

#include <criterion/criterion.h>
#include <string.h>

#define SECRET "an audit key that is long enough for anybody"

Test(signing, accepts_only_what_the_key_signed)
{
    struct signing_key *key = signing_key_new(SECRET);
    struct signing_public public = *signing_key_public(key);
    uint8_t signature[SIGNING_SIGNATURE_BYTES];

    signing_make(key, STR("head 7"), signature);
    cr_assert(signing_is_by(&public, STR("head 7"), signature));
    cr_assert_not(signing_is_by(&public, STR("head 8"), signature));
    signature[0] ^= 1;
    cr_assert_not(signing_is_by(&public, STR("head 7"), signature));
    signature[0] ^= 1;
    public.bytes[0] ^= 1;
    cr_assert_not(signing_is_by(&public, STR("head 7"), signature));
    signing_key_free(key);
}

/* RFC 8032, 7.1, test 2. Our keys have a hash as their seed, so only verifying can be compared. */
Test(signing, verifies_what_others_have_signed)
{
    struct signing_public public;
    uint8_t signature[SIGNING_SIGNATURE_BYTES];

    cr_assert(signing_public_read(
        STR("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"), &public));
    cr_assert(hex_read(STR("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                           "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
                       signature, sizeof(signature)));
    cr_assert(signing_is_by(&public, STR("\x72"), signature));
}

Test(signing, is_the_same_key_for_the_same_secret)
{
    struct signing_key *one = signing_key_new(SECRET), *two = signing_key_new(SECRET);
    struct signing_key *other = signing_key_new(SECRET ".");
    struct signing_public read;
    char hex[2 * SIGNING_PUBLIC_BYTES + 1];

    cr_assert_str_eq(signing_key_public(one)->id, signing_key_public(two)->id);
    cr_assert_str_neq(signing_key_public(one)->id, signing_key_public(other)->id);
    hex_write(signing_key_public(one)->bytes, SIGNING_PUBLIC_BYTES, hex);
    cr_assert(signing_public_read(str_of(hex), &read));
    cr_assert_str_eq(read.id, signing_key_public(one)->id);
    signing_key_free(one);
    signing_key_free(two);
    signing_key_free(other);
}

Test(signing, refuses_a_secret_that_could_be_guessed)
{
    struct signing_public public;

    cr_assert_null(signing_key_new("short"));
    cr_assert_null(signing_key_new(NULL));
    cr_assert_not(signing_public_read(STR("3d40"), &public));
}

#include "services/webhook/secret.h"

#include <criterion/criterion.h>
#include <string.h>

#define KEY   "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define OTHER "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static const struct uuid acme = {.b = {1}}, here = {.b = {2}}, there = {.b = {3}};
static struct arena arena;

static void start(void)
{
    arena_init(&arena, 1 << 20);
}

static void stop(void)
{
    arena_release(&arena);
}

TestSuite(secret, .init = start, .fini = stop);

static struct secret_keys keys(const char *current, const char *previous)
{
    struct secret_keys out;

    cr_assert(secret_keys_read(str_of(current), str_of(previous), &out));
    return out;
}

Test(secret, has_its_form_and_is_another_each_time)
{
    const struct str one = secret_new(&arena), other = secret_new(&arena);

    cr_assert_eq(one.n, ENDPOINT_SECRET_TEXT);
    cr_assert(str_starts(one, STR("whsec_")));
    cr_assert_eq(strspn(one.p + 6, "0123456789abcdef"), 64);
    cr_assert_not(str_equal(one, other));
}

Test(secret, opens_only_for_its_endpoint)
{
    const struct secret_keys ours = keys(KEY, "");
    const struct str secret = secret_new(&arena);
    const struct str sealed = secret_seal(&ours, &arena, &acme, &here, secret);
    char opened[ENDPOINT_SECRET_TEXT];

    cr_assert(secret_open(&ours, &acme, &here, sealed, opened));
    cr_assert_eq(memcmp(opened, secret.p, ENDPOINT_SECRET_TEXT), 0);
    cr_assert_not(secret_open(&ours, &acme, &there, sealed, opened));
    cr_assert_not(secret_open(&ours, &there, &here, sealed, opened));
    cr_assert_not(secret_open(&ours, &acme, &here, STR(""), opened));
}

Test(secret, opens_with_the_key_before_but_is_sealed_with_the_new_one)
{
    const struct secret_keys old = keys(KEY, ""), both = keys(OTHER, KEY), latest = keys(OTHER, "");
    const struct str secret = secret_new(&arena);
    char opened[ENDPOINT_SECRET_TEXT];

    cr_assert(
        secret_open(&both, &acme, &here, secret_seal(&old, &arena, &acme, &here, secret), opened));
    cr_assert(secret_open(&latest, &acme, &here, secret_seal(&both, &arena, &acme, &here, secret),
                          opened));
    cr_assert_not(secret_open(&latest, &acme, &here,
                              secret_seal(&old, &arena, &acme, &here, secret), opened));
}

Test(secret, needs_keys_of_64_hex_digits)
{
    struct secret_keys out;

    cr_assert_not(secret_keys_read(STR(""), STR(""), &out));
    cr_assert_not(secret_keys_read(STR("00"), STR(""), &out));
    cr_assert_not(secret_keys_read(STR(KEY), STR("x"), &out));
}

Test(secret, is_encrypted_again_only_if_another_key_encrypted_it)
{
    const struct secret_keys old = keys(KEY, ""), both = keys(OTHER, KEY), latest = keys(OTHER, "");
    const struct str secret = secret_new(&arena);
    const struct str sealed = secret_seal(&old, &arena, &acme, &here, secret);
    const struct str again = secret_rekey(&both, &arena, &acme, &here, sealed);
    char opened[ENDPOINT_SECRET_TEXT];

    cr_assert_not_null(again.p);
    cr_assert(secret_open(&latest, &acme, &here, again, opened));
    cr_assert_eq(memcmp(opened, secret.p, ENDPOINT_SECRET_TEXT), 0);
    cr_assert_null(secret_rekey(&both, &arena, &acme, &here, again).p,
                   "it is already encrypted with the first key");
    cr_assert_null(secret_rekey(&old, &arena, &acme, &here, again).p, "no key opens it");
    cr_assert_null(secret_rekey(&both, &arena, &acme, &there, sealed).p,
                   "it is another endpoint's");
}

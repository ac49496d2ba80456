/* Sealed secrets that anyone with write access to the database may have left: a secret opens only
   if it was sealed with one of our keys for the same endpoint. */
#include <string.h>

#include "common/base/ascii.h"
#include "services/webhook/secret.h"
#include "tests/fuzz/fuzz.h"

#define CURRENT  "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define PREVIOUS "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"

static const struct uuid organization = {{1}}, endpoint = {{2}}, other = {{3}};
static struct secret_keys keys, former;
static struct arena arena = {.cap = 1 << 20};

static void set_up(void)
{
    if (keys.n > 0)
        return;
    must(secret_keys_read(STR(CURRENT), STR(PREVIOUS), &keys));
    must(secret_keys_read(STR(PREVIOUS), STR_NONE, &former));
}

/* Seals the input with the former key: it opens unchanged, and is rekeyed exactly once. */
static void check_sealed(struct str secret)
{
    struct str sealed = secret_seal(&former, &arena, &organization, &endpoint, secret), again;
    char opened[ENDPOINT_SECRET_TEXT];

    must(secret_open(&keys, &organization, &endpoint, sealed, opened));
    must(memcmp(opened, secret.p, sizeof(opened)) == 0);
    must(!secret_open(&keys, &organization, &other, sealed, opened));
    must(!secret_open(&keys, &other, &endpoint, sealed, opened));
    again = secret_rekey(&keys, &arena, &organization, &endpoint, sealed);
    must(again.p != NULL && secret_open(&keys, &organization, &endpoint, again, opened));
    must(!secret_open(&former, &organization, &endpoint, again, opened));
    must(secret_rekey(&keys, &arena, &organization, &endpoint, again).p == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct str text = {(const char *)data, n};
    char opened[ENDPOINT_SECRET_TEXT], *hex;

    set_up();
    must(!secret_open(&keys, &organization, &endpoint, text, opened));
    must(secret_rekey(&keys, &arena, &organization, &endpoint, text).p == NULL);
    if (n >= ENDPOINT_SECRET_TEXT)
        check_sealed((struct str){text.p, ENDPOINT_SECRET_TEXT});
    if (n <= 256) {
        hex = arena_alloc(&arena, 2 * n + 1);
        hex_write(data, n, hex);
        must(!secret_open(&keys, &organization, &endpoint, str_of(hex), opened));
    }
    arena_clear(&arena);
    return 0;
}

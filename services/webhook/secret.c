#include "services/webhook/secret.h"

#include <string.h>

#include "common/base/ascii.h"

#define PREFIX "whsec_"

enum { RANDOM = 32, SEALED = ENDPOINT_SECRET_TEXT + CRYPTO_SEAL_OVERHEAD };

_Static_assert(ENDPOINT_SECRET_TEXT == sizeof(PREFIX) - 1 + 2 * RANDOM,
               "a secret is PREFIX and hex digits");

struct context {
    struct uuid organization_id, endpoint_id;
};

static struct str bytes_of(const struct context *context)
{
    return (struct str){(const char *)context, sizeof(*context)};
}

bool secret_keys_read(struct str current, struct str previous, struct secret_keys *out)
{
    out->n = previous.n > 0 ? 2 : 1;
    return crypto_key_read(current, &out->at[0]) &&
           (previous.n == 0 || crypto_key_read(previous, &out->at[1]));
}

struct str secret_new(struct arena *arena)
{
    char *text = arena_alloc(arena, ENDPOINT_SECRET_TEXT + 1);
    uint8_t bytes[RANDOM];

    arena->wipes = true;
    crypto_random(bytes, sizeof(bytes));
    memcpy(text, PREFIX, sizeof(PREFIX));
    hex_write(bytes, sizeof(bytes), text + sizeof(PREFIX) - 1);
    crypto_wipe(bytes, sizeof(bytes));
    return str_of(text);
}

struct str secret_seal(const struct secret_keys *keys, struct arena *arena,
                       const struct uuid *organization_id, const struct uuid *endpoint_id,
                       struct str secret)
{
    const struct context context = {*organization_id, *endpoint_id};
    char *text = arena_alloc(arena, 2 * SEALED + 1);
    uint8_t bytes[SEALED];

    crypto_seal(&keys->at[0], bytes_of(&context), secret, bytes);
    hex_write(bytes, sizeof(bytes), text);
    return str_of(text);
}

bool secret_open(const struct secret_keys *keys, const struct uuid *organization_id,
                 const struct uuid *endpoint_id, struct str sealed_hex,
                 char secret[ENDPOINT_SECRET_TEXT])
{
    const struct context context = {*organization_id, *endpoint_id};
    uint8_t sealed[SEALED];

    if (!hex_read(sealed_hex, sealed, sizeof(sealed)))
        return false;
    for (int i = 0; i < keys->n; i++) {
        if (crypto_unseal(&keys->at[i], bytes_of(&context), sealed, sizeof(sealed), secret))
            return true;
    }
    return false;
}

struct str secret_rekey(const struct secret_keys *keys, struct arena *arena,
                        const struct uuid *organization_id, const struct uuid *endpoint_id,
                        struct str sealed_hex)
{
    struct secret_keys first = *keys;
    struct str again = STR_NONE;
    char secret[ENDPOINT_SECRET_TEXT];

    first.n = 1;
    if (!secret_open(&first, organization_id, endpoint_id, sealed_hex, secret) &&
        secret_open(keys, organization_id, endpoint_id, sealed_hex, secret))
        again = secret_seal(keys, arena, organization_id, endpoint_id,
                            (struct str){secret, sizeof(secret)});
    crypto_wipe(secret, sizeof(secret));
    crypto_wipe((char *)&first, sizeof(first));
    return again;
}

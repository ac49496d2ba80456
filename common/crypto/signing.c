#include "common/crypto/signing.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/ascii.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"

struct signing_key {
    EVP_PKEY *pair;
    struct signing_public public;
};

static void set_id(struct signing_public *public)
{
    uint8_t digest[SHA256_BYTES];

    crypto_sha256((struct str){(const char *)public->bytes, sizeof(public->bytes)}, digest);
    hex_write(digest, SIGNING_ID_TEXT / 2, public->id);
}

struct signing_key *signing_key_new(const char *secret)
{
    struct signing_key *key;
    uint8_t seed[SHA256_BYTES];
    size_t n = SIGNING_PUBLIC_BYTES;
    bool done;

    if (secret == NULL || strlen(secret) < SIGNING_SECRET_MIN)
        return NULL;
    key = heap_zeroed(1, sizeof(*key));
    crypto_sha256(str_of(secret), seed);
    key->pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof(seed));
    crypto_wipe(seed, sizeof(seed));
    done = key->pair != NULL && EVP_PKEY_get_raw_public_key(key->pair, key->public.bytes, &n) == 1;
    must(done && n == SIGNING_PUBLIC_BYTES);
    set_id(&key->public);
    return key;
}

void signing_key_free(struct signing_key *key)
{
    if (key == NULL)
        return;
    EVP_PKEY_free(key->pair);
    free(key);
}

const struct signing_public *signing_key_public(const struct signing_key *key)
{
    return &key->public;
}

void signing_make(struct signing_key *key, struct str data,
                  uint8_t signature[SIGNING_SIGNATURE_BYTES])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t n = SIGNING_SIGNATURE_BYTES;
    bool done = context != NULL && EVP_DigestSignInit(context, NULL, NULL, NULL, key->pair) == 1 &&
                EVP_DigestSign(context, signature, &n, (const unsigned char *)data.p, data.n) == 1;

    must(done && n == SIGNING_SIGNATURE_BYTES);
    EVP_MD_CTX_free(context);
}

bool signing_public_read(struct str hex, struct signing_public *out)
{
    if (!hex_read(hex, out->bytes, sizeof(out->bytes)))
        return false;
    set_id(out);
    return true;
}

bool signing_is_by(const struct signing_public *by, struct str data,
                   const uint8_t signature[SIGNING_SIGNATURE_BYTES])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY *key =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, by->bytes, sizeof(by->bytes));
    bool is_by = context != NULL && key != NULL &&
                 EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1 &&
                 EVP_DigestVerify(context, signature, SIGNING_SIGNATURE_BYTES,
                                  (const unsigned char *)data.p, data.n) == 1;

    EVP_PKEY_free(key);
    EVP_MD_CTX_free(context);
    return is_by;
}

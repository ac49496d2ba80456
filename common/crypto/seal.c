#include "common/crypto/seal.h"

#include <openssl/evp.h>

#include "common/base/ascii.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"

enum { NONCE = 12, TAG = 16, SECRET_MAX = 64 * 1024 };

_Static_assert(NONCE + TAG == SEAL_OVERHEAD, "the layout in the header");

bool seal_key_read(struct str text, struct seal_key *out)
{
    return text.p != NULL && hex_read(text, out->b, sizeof(out->b));
}

/* Nothing here depends on the input but the tag, which the caller checks. */
static EVP_CIPHER_CTX *begin(const struct seal_key *key, const uint8_t *nonce, struct str context,
                             bool encrypts)
{
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    int n;
    bool done;

    must(cipher != NULL && context.n <= SECRET_MAX);
    done = EVP_CipherInit_ex(cipher, EVP_aes_256_gcm(), NULL, key->b, nonce, encrypts) == 1 &&
           EVP_CipherUpdate(cipher, NULL, &n, (const uint8_t *)context.p, (int)context.n) == 1;
    must(done);
    return cipher;
}

void seal(const struct seal_key *key, struct str context, struct str secret, uint8_t *sealed)
{
    uint8_t *const text = sealed + NONCE, *const tag = text + secret.n;
    EVP_CIPHER_CTX *cipher;
    bool done;
    int n;

    must(secret.n <= SECRET_MAX);
    crypto_random(sealed, NONCE);
    cipher = begin(key, sealed, context, true);
    done = EVP_CipherUpdate(cipher, text, &n, (const uint8_t *)secret.p, (int)secret.n) == 1 &&
           EVP_CipherFinal_ex(cipher, tag, &n) == 1 &&
           EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, TAG, tag) == 1;
    must(done);
    EVP_CIPHER_CTX_free(cipher);
}

bool seal_open(const struct seal_key *key, struct str context, const uint8_t *sealed, size_t n,
               char *secret)
{
    EVP_CIPHER_CTX *cipher;
    uint8_t tag[TAG], none[TAG];
    int length = 0;
    bool opened;

    if (n < SEAL_OVERHEAD || n - SEAL_OVERHEAD > SECRET_MAX)
        return false;
    n -= SEAL_OVERHEAD;
    for (int i = 0; i < TAG; i++)
        tag[i] = sealed[NONCE + n + (size_t)i];
    cipher = begin(key, sealed, context, false);
    opened = EVP_CipherUpdate(cipher, (uint8_t *)secret, &length, sealed + NONCE, (int)n) == 1 &&
             EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, TAG, tag) == 1 &&
             EVP_CipherFinal_ex(cipher, none, &length) == 1;
    EVP_CIPHER_CTX_free(cipher);
    if (!opened)
        crypto_wipe(secret, n);
    return opened;
}

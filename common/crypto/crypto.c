#include "common/crypto/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <pthread.h>

#include "common/base/log.h"

/* Fetched once: OpenSSL 3 would look it up by name for each digest. */
static EVP_MD *sha256;

static void fetch_sha256(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    must(sha256 != NULL);
}

static const EVP_MD *get_sha256(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fetch_sha256);
    return sha256;
}

void crypto_open(void)
{
    bool done = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL) == 1;

    must(done);
}

void crypto_sha256(struct str data, uint8_t digest[SHA256_BYTES])
{
    bool done = EVP_Digest(data.p, data.n, digest, NULL, get_sha256(), NULL) == 1;

    must(done);
}

void crypto_hmac_sha256(struct str key, struct str data, uint8_t mac[SHA256_BYTES])
{
    bool done;

    must(key.n <= INT32_MAX);
    done = HMAC(get_sha256(), key.n > 0 ? key.p : "", (int)key.n, (const unsigned char *)data.p,
                data.n, mac, NULL) != NULL;
    must(done);
}

void crypto_random(void *out, size_t n)
{
    bool done = n <= INT32_MAX && RAND_bytes(out, (int)n) == 1;

    must(done);
}

bool crypto_equal(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}

void crypto_wipe(void *p, size_t n)
{
    OPENSSL_cleanse(p, n);
}

void crypto_hex(const void *data, size_t n, char *text)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *p = data;

    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digits[p[i] >> 4];
        text[2 * i + 1] = digits[p[i] & 0xF];
    }
    text[2 * n] = '\0';
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool crypto_unhex(struct str text, void *out, size_t n)
{
    uint8_t *p = out;

    if (text.n % 2 != 0 || text.n / 2 != n)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (digit_of(text.p[i]) < 0)
            return false;
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(digit_of(text.p[2 * i]) * 16 + digit_of(text.p[2 * i + 1]));
    return true;
}

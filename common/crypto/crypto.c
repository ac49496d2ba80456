#include "common/crypto/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/log.h"

/* Fetched once; otherwise OpenSSL 3 would look it up by name for each digest. */
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

/* -- passwords --------------------------------------------------------------------------------- */

enum { SALT_BYTES = 16, DIGEST_BYTES = 32 };

/* The cost, as written before the salt. */
struct cost {
    uint64_t log2_n, r, p;
};

/* OWASP's Password Storage Cheat Sheet recommends at least N=2^17, r=8, p=1 and lists this one as
   equivalent; it needs 32 MiB instead of 128. */
static struct cost cost_now = {CRYPTO_PASSWORD_COST, 8, 3};
/* The highest cost that a stored hash may have: 64 MiB, so that a bad row cannot stop the
   process. */
static const struct cost cost_max = {16, 8, 16};

void crypto_password_set_cost(unsigned log2_n)
{
    cost_now.log2_n = log2_n;
}

static bool derive(struct str password, const struct cost *cost, const uint8_t salt[SALT_BYTES],
                   uint8_t digest[DIGEST_BYTES])
{
    uint64_t n = 1ull << cost->log2_n;
    /* The memory that the function needs; OpenSSL's own limit of 32 MiB is slightly too low. */
    uint64_t memory = 128 * cost->r * (n + cost->p + 2);

    return EVP_PBE_scrypt(password.n > 0 ? password.p : "", password.n, salt, SALT_BYTES, n,
                          cost->r, cost->p, memory, digest, DIGEST_BYTES) == 1;
}

void crypto_password_hash(struct str password, char hash[CRYPTO_PASSWORD_TEXT])
{
    uint8_t salt[SALT_BYTES], digest[DIGEST_BYTES];
    char salt_hex[2 * SALT_BYTES + 1], digest_hex[2 * DIGEST_BYTES + 1];
    bool done;

    crypto_random(salt, sizeof(salt));
    done = derive(password, &cost_now, salt, digest);
    must(done);
    hex_write(salt, sizeof(salt), salt_hex);
    hex_write(digest, sizeof(digest), digest_hex);
    snprintf(hash, CRYPTO_PASSWORD_TEXT, "scrypt$%d$%d$%d$%s$%s", (int)cost_now.log2_n,
             (int)cost_now.r, (int)cost_now.p, salt_hex, digest_hex);
    crypto_wipe(digest, sizeof(digest));
    crypto_wipe(digest_hex, sizeof(digest_hex));
}

static bool read_cost(struct str *rest, struct cost *cost)
{
    return str_to_u64(str_cut(rest, '$'), cost_max.log2_n, &cost->log2_n) &&
           str_to_u64(str_cut(rest, '$'), cost_max.r, &cost->r) &&
           str_to_u64(str_cut(rest, '$'), cost_max.p, &cost->p) && cost->log2_n > 0 &&
           cost->r > 0 && cost->p > 0;
}

bool crypto_password_matches(struct str password, const char *hash)
{
    struct str rest = str_of(hash);
    uint8_t salt[SALT_BYTES], stored[DIGEST_BYTES], digest[DIGEST_BYTES];
    struct cost cost;
    bool same;

    if (!str_equal(str_cut(&rest, '$'), STR("scrypt")) || !read_cost(&rest, &cost) ||
        !hex_read(str_cut(&rest, '$'), salt, sizeof(salt)) ||
        !hex_read(rest, stored, sizeof(stored)))
        return false;
    same = derive(password, &cost, salt, digest) && crypto_equal(digest, stored, sizeof(digest));
    crypto_wipe(digest, sizeof(digest));
    crypto_wipe(stored, sizeof(stored));
    return same;
}

static uint64_t work_of(const struct cost *cost)
{
    return (1ull << cost->log2_n) * cost->r * cost->p;
}

bool crypto_password_is_dated(const char *hash)
{
    struct str rest = str_of(hash);
    struct cost cost;

    return !str_equal(str_cut(&rest, '$'), STR("scrypt")) || !read_cost(&rest, &cost) ||
           work_of(&cost) < work_of(&cost_now);
}

/* -- tokens ------------------------------------------------------------------------------------ */

enum { PREFIX = 9, RANDOM = 32, CHECKED = PREFIX + RANDOM, CHECKSUM = TOKEN_TEXT - CHECKED };

static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* CRC-32 (IEEE 802.3), half a byte at a time. */
static uint32_t crc32(const char *p, size_t n)
{
    static const uint32_t half[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    };
    uint32_t crc = ~0u;

    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned char)p[i];
        crc = crc >> 4 ^ half[crc & 0xF];
        crc = crc >> 4 ^ half[crc & 0xF];
    }
    return ~crc;
}

/* Most significant digit first. */
static void write_checksum(const char *token, char out[CHECKSUM])
{
    uint32_t crc = crc32(token, CHECKED);

    for (int i = CHECKSUM - 1; i >= 0; i--) {
        out[i] = base62[crc % 62];
        crc /= 62;
    }
}

/* Makes every digit equally likely: skips bytes from 248 on, the largest multiple of 62 below
   256. */
static void write_random(char out[RANDOM])
{
    uint8_t bytes[RANDOM];
    size_t n = 0;

    while (n < RANDOM) {
        crypto_random(bytes, sizeof(bytes));
        for (size_t i = 0; i < sizeof(bytes) && n < RANDOM; i++)
            if (bytes[i] < 248)
                out[n++] = base62[bytes[i] % 62];
    }
    crypto_wipe(bytes, sizeof(bytes));
}

void token_make(enum token_kind kind, char text[TOKEN_TEXT + 1])
{
    must(kind == TOKEN_LIVE || kind == TOKEN_READ);
    memcpy(text, kind == TOKEN_LIVE ? "svc_live_" : "svc_read_", PREFIX);
    write_random(text + PREFIX);
    write_checksum(text, text + CHECKED);
    text[TOKEN_TEXT] = '\0';
}

enum token_kind token_classify(struct str token)
{
    char checksum[CHECKSUM];
    enum token_kind kind;

    if (str_starts(token, STR("svc_test_")))
        return str_equal(str_trim_ows(token), token) ? TOKEN_LEGACY : TOKEN_MALFORMED;
    if (str_starts(token, STR("svc_live_")))
        kind = TOKEN_LIVE;
    else if (str_starts(token, STR("svc_read_")))
        kind = TOKEN_READ;
    else
        return TOKEN_MALFORMED;
    if (token.n != TOKEN_TEXT)
        return TOKEN_MALFORMED;
    for (size_t i = PREFIX; i < CHECKED; i++)
        if (!ascii_is_alphanumeric(token.p[i]))
            return TOKEN_MALFORMED;
    write_checksum(token.p, checksum);
    return memcmp(checksum, token.p + CHECKED, CHECKSUM) == 0 ? kind : TOKEN_MALFORMED;
}

void token_hash(struct str token, uint8_t hash[SHA256_BYTES])
{
    crypto_sha256(token, hash);
}

/* -- sealed secrets ---------------------------------------------------------------------------- */

enum { NONCE = 12, TAG = 16, SECRET_MAX = 64 * 1024 };

_Static_assert(NONCE + TAG == CRYPTO_SEAL_OVERHEAD, "the overhead is the nonce and the tag");

bool crypto_key_read(struct str text, struct crypto_key *out)
{
    return text.p != NULL && hex_read(text, out->b, sizeof(out->b));
}

/* Nothing here can fail because of the input; the caller finds a wrong tag. */
static EVP_CIPHER_CTX *begin_cipher(const struct crypto_key *key, const uint8_t *nonce,
                                    struct str context, bool encrypts)
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

void crypto_seal(const struct crypto_key *key, struct str context, struct str secret,
                 uint8_t *sealed)
{
    uint8_t *const text = sealed + NONCE, *const tag = text + secret.n;
    EVP_CIPHER_CTX *cipher;
    bool done;
    int n;

    must(secret.n <= SECRET_MAX);
    crypto_random(sealed, NONCE);
    cipher = begin_cipher(key, sealed, context, true);
    done = EVP_CipherUpdate(cipher, text, &n, (const uint8_t *)secret.p, (int)secret.n) == 1 &&
           EVP_CipherFinal_ex(cipher, tag, &n) == 1 &&
           EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, TAG, tag) == 1;
    must(done);
    EVP_CIPHER_CTX_free(cipher);
}

bool crypto_unseal(const struct crypto_key *key, struct str context, const uint8_t *sealed,
                   size_t n, char *secret)
{
    EVP_CIPHER_CTX *cipher;
    uint8_t tag[TAG], none[TAG];
    int length = 0;
    bool opened;

    if (n < CRYPTO_SEAL_OVERHEAD || n - CRYPTO_SEAL_OVERHEAD > SECRET_MAX)
        return false;
    n -= CRYPTO_SEAL_OVERHEAD;
    for (int i = 0; i < TAG; i++)
        tag[i] = sealed[NONCE + n + (size_t)i];
    cipher = begin_cipher(key, sealed, context, false);
    opened = EVP_CipherUpdate(cipher, (uint8_t *)secret, &length, sealed + NONCE, (int)n) == 1 &&
             EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, TAG, tag) == 1 &&
             EVP_CipherFinal_ex(cipher, none, &length) == 1;
    EVP_CIPHER_CTX_free(cipher);
    if (!opened)
        crypto_wipe(secret, n);
    return opened;
}

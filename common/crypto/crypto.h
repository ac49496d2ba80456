/*
 * crypto - hashes, random bytes and comparisons; passwords, tokens and sealed secrets. With
 *          signing.h the only user of OpenSSL's EVP.
 *
 * Threads  Any.
 * Fails    The primitives do not fail on a working machine; if OpenSSL reports a failure, the process
 *          aborts rather than continue with weak bytes.
 */
#ifndef COMMON_CRYPTO_CRYPTO_H
#define COMMON_CRYPTO_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/base/str.h"

#define SHA256_BYTES 32

/* Call in a process with a bus, before anything else uses OpenSSL: prevents OpenSSL's cleanup at
   exit. nats.c releases the last of a TLS connection on a separate thread, which cannot be joined
   and may still be running then. */
void crypto_open(void);

void crypto_sha256(struct str data, uint8_t digest[SHA256_BYTES]);
void crypto_hmac_sha256(struct str key, struct str data, uint8_t mac[SHA256_BYTES]);
void crypto_random(void *out, size_t n);
bool crypto_equal(const void *a, const void *b, size_t n); /* constant time */
void crypto_wipe(void *p, size_t n);                       /* not optimised away */

/* -- passwords -------------------------------------------------------------------------------- */

/* scrypt (RFC 7914), N=2^15 r=8 p=3, 32 MiB and about 150 ms; `hash` has parameters, salt and
   digest as text: "scrypt$15$8$3$SALT$DIGEST" in hex. */
#define CRYPTO_PASSWORD_TEXT 128
#define CRYPTO_PASSWORD_COST 15
/* Sets another N than 2^CRYPTO_PASSWORD_COST for new hashes. Call before threads start. */
void crypto_password_set_cost(unsigned log2_n);
void crypto_password_hash(struct str password, char hash[CRYPTO_PASSWORD_TEXT]);
bool crypto_password_matches(struct str password, const char *hash);
/* The hash was made with a lower cost than crypto_password_hash() uses now. */
bool crypto_password_is_dated(const char *hash);

/* -- tokens ----------------------------------------------------------------------------------- */

/* API keys: `svc_live_` or `svc_read_`, 32 random base62 characters, and 6 characters with the
   CRC-32 (IEEE polynomial) of all before them in base62, so that a typing error or a made-up key is
   detected without a call to access. Only the SHA-256 of a key is ever stored or sent. */
#define TOKEN_TEXT 47 /* 9 + 32 + 6 */

enum token_kind {
    TOKEN_MALFORMED, /* wrong prefix, length, alphabet or checksum */
    TOKEN_LIVE,
    TOKEN_READ,
    TOKEN_LEGACY, /* `svc_test_` and anything after it that does not end in a blank */
};

void token_make(enum token_kind kind, char text[TOKEN_TEXT + 1]);
enum token_kind token_classify(struct str token);
void token_hash(struct str token, uint8_t hash[SHA256_BYTES]);

/* -- sealed secrets ---------------------------------------------------------------------------- */

/* Secrets stored where others may read them: AES-256-GCM. A sealed secret is nonce 12 | ciphertext
   | tag 16. The context identifies its place (which organization, which endpoint): a secret sealed
   for one place cannot be opened for another. The caller provides the memory and wipes what it
   opened. */
#define CRYPTO_KEY_BYTES     32
#define CRYPTO_SEAL_OVERHEAD 28

struct crypto_key {
    uint8_t b[CRYPTO_KEY_BYTES];
};

/* Reads 64 hex digits in lower case. */
MUST_CHECK bool crypto_key_read(struct str text, struct crypto_key *out);

/* Writes secret.n + CRYPTO_SEAL_OVERHEAD bytes. */
void crypto_seal(const struct crypto_key *key, struct str context, struct str secret,
                 uint8_t *sealed);
/* Writes n - CRYPTO_SEAL_OVERHEAD bytes. False: it was altered, moved or sealed with another
   key. */
MUST_CHECK bool crypto_unseal(const struct crypto_key *key, struct str context,
                              const uint8_t *sealed, size_t n, char *secret);

#endif

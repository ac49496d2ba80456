/*
 * crypto - hashes, random bytes and comparisons. The only user of OpenSSL's EVP (TLS set-up apart).
 *
 * Threads  Any.
 * Fails    The primitives cannot fail on a sane machine; when OpenSSL says otherwise the process
 *          aborts rather than go on with weak bytes.
 */
#ifndef COMMON_CRYPTO_CRYPTO_H
#define COMMON_CRYPTO_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/str.h"

#define SHA256_BYTES 32

/* Before anything else uses OpenSSL in a process that has a bus: OpenSSL is not torn down at exit.
   nats.c releases the last of a TLS connection on a separate thread, which cannot be waited for and
   may still be running then. */
void crypto_open(void);

void crypto_sha256(struct str data, uint8_t digest[SHA256_BYTES]);
void crypto_hmac_sha256(struct str key, struct str data, uint8_t mac[SHA256_BYTES]);
void crypto_random(void *out, size_t n);
bool crypto_equal(const void *a, const void *b, size_t n); /* constant time */
void crypto_wipe(void *p, size_t n);                       /* not optimised away */

/* scrypt (RFC 7914), N=2^15 r=8 p=3, 32 MiB and about 150 ms; `hash` holds parameters, salt and
   digest as text: "scrypt$15$8$3$SALT$DIGEST" in hex. */
#define CRYPTO_PASSWORD_TEXT 128
#define CRYPTO_PASSWORD_COST 15
/* Another N than 2^CRYPTO_PASSWORD_COST for hashes that are made from now on. Before threads start.
 */
void crypto_password_set_cost(unsigned log2_n);
void crypto_password_hash(struct str password, char hash[CRYPTO_PASSWORD_TEXT]);
bool crypto_password_matches(struct str password, const char *hash);
/* It was made when hashing cost less than crypto_password_hash() makes it cost now. */
bool crypto_password_is_dated(const char *hash);

#endif

/*
 * tls_certificate - the certificate and the key of our TLS listeners, read again when their files
 *                   change.
 *
 * What     When a connection is accepted, at most once a second, it looks whether the files are
 *          others than before: replaced, or written again. If so it reads both, aside, and uses them
 *          from that connection on; connections that are open keep what they had. Files that
 *          cannot be used (the new key is not there yet, the certificate is broken) change
 *          nothing: the cause is logged, and they are tried again.
 * Owns     Itself, until the process ends; each SSL_CTX that is in use has a reference.
 * Threads  Any. Reading the files blocks the thread for about a millisecond, once for each change.
 * Fails    tls_certificate_open() returns NULL (logged) if the files cannot be used.
 */
#ifndef COMMON_HTTP_TLS_CERTIFICATE_H
#define COMMON_HTTP_TLS_CERTIFICATE_H

#include <openssl/ssl.h>

struct tls_certificate;

/* TLS 1.2 and 1.3, HTTP/1.1 only. The names of the files must live as long as the process. */
struct tls_certificate *tls_certificate_open(const char *cert_file, const char *key_file);
void tls_certificate_free(struct tls_certificate *certificate); /* for tests */

/* Looks whether the files have changed, and lets *tls be what is in use now. *tls is a reference, or
   NULL before the first call; the caller frees the last one with SSL_CTX_free(). */
void tls_certificate_use(struct tls_certificate *certificate, SSL_CTX **tls);

#endif

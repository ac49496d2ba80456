/*
 * certificates - when the certificates that a process uses expire, as one metric:
 *                conversations_certificate_expiry_timestamp_seconds{certificate="..."}.
 *
 * What     Of a file that is read for each connection, that of the certificate in it that expires
 *          first: the file is read again whenever somebody asks for the metrics, so that one that
 *          was renewed is seen before it is used. A file that cannot be read changes nothing. What a
 *          server showed, and what a listener shows, is told by those who know it.
 * Owns     The names of certificates and files: they are copied. CERTIFICATES_MAX at most.
 * Threads  certificates_open() before threads start; the rest any. Without it the rest does
 *          nothing.
 */
#ifndef COMMON_CRYPTO_CERTIFICATES_H
#define COMMON_CRYPTO_CERTIFICATES_H

#include <stdint.h>

#define CERTIFICATES_MAX 12

void certificates_open(void);

/* `file` NULL or empty: there is none. Repeating it does nothing; another file replaces the first. */
void certificates_watch(const char *name, const char *file);
/* Unix seconds. */
void certificates_show(const char *name, int64_t expires_s);
/* That of the other side of a connection. `ssl` is OpenSSL's SSL; NULL: the connection has no TLS. */
void certificates_show_peer(const char *name, void *ssl);

/* Reads the files. Call before metrics_render(). */
void certificates_read(void);

#endif

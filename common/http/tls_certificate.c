#include "common/http/tls_certificate.h"

#include <h2o.h>
#include <openssl/err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/arena.h"
#include "common/base/file_watch.h"
#include "common/base/log.h"
#include "common/crypto/certificates.h"

enum { WHY = 512 };

struct tls_certificate {
    const char *cert_file, *key_file; /* constant */
    pthread_mutex_t lock;             /* of what follows */
    SSL_CTX *tls;
    struct file_watch files;
};

/* -- reading --------------------------------------------------------------------------------- */

/* OpenSSL would ask on the terminal. */
static int no_passphrase(char *out, int size, int is_writing, void *closure)
{
    return -1;
}

static const char *reason_of(unsigned long error)
{
    const char *reason = ERR_SYSTEM_ERROR(error) ? strerrordesc_np(ERR_GET_REASON(error))
                                                 : ERR_reason_error_string(error);

    return reason != NULL ? reason : "unknown error";
}

/* False: `why` names the file and tells what is wrong with it. */
static bool read_files(const struct tls_certificate *certificate, SSL_CTX *tls, char why[WHY])
{
    const char *file = NULL;

    ERR_clear_error();
    SSL_CTX_set_default_passwd_cb(tls, no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(tls, certificate->cert_file) != 1)
        file = certificate->cert_file;
    else if (SSL_CTX_use_PrivateKey_file(tls, certificate->key_file, SSL_FILETYPE_PEM) != 1 ||
             SSL_CTX_check_private_key(tls) != 1)
        file = certificate->key_file;
    if (file != NULL)
        (void)snprintf(why, WHY, "%s: %s", file, reason_of(ERR_peek_error()));
    ERR_clear_error();
    return file == NULL;
}

static SSL_CTX *load(const struct tls_certificate *certificate, char why[WHY])
{
    static const h2o_iovec_t protocols[] = {{(char *)"http/1.1", 8}, {NULL, 0}};
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());

    must(tls != NULL && SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) == 1);
    if (!read_files(certificate, tls, why)) {
        SSL_CTX_free(tls);
        return NULL;
    }
    SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    h2o_ssl_register_alpn_protocols(tls, protocols);
    return tls;
}

/* Unix seconds at which it expires. */
static int64_t expiry_of(SSL_CTX *tls)
{
    struct tm when = {0};

    (void)ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(tls)), &when);
    return timegm(&when);
}

struct tls_certificate *tls_certificate_open(const char *cert_file, const char *key_file)
{
    struct tls_certificate *certificate = heap_zeroed(1, sizeof(*certificate));
    char why[WHY];

    certificate->cert_file = cert_file;
    certificate->key_file = key_file;
    must(pthread_mutex_init(&certificate->lock, NULL) == 0);
    certificate->files = file_watch_of(cert_file, key_file);
    certificate->tls = load(certificate, why);
    if (certificate->tls != NULL) {
        certificates_show("api", expiry_of(certificate->tls));
        return certificate;
    }
    LOG(LOG_ERROR, "TLS certificate or key cannot be used", log_str("cert", cert_file),
        log_str("key", key_file), log_str("error", why));
    tls_certificate_free(certificate);
    return NULL;
}

void tls_certificate_free(struct tls_certificate *certificate)
{
    SSL_CTX_free(certificate->tls);
    pthread_mutex_destroy(&certificate->lock);
    free(certificate);
}

/* -- changes --------------------------------------------------------------------------------- */

static void renew(struct tls_certificate *certificate, enum file_news news)
{
    char why[WHY];
    SSL_CTX *tls = load(certificate, why);

    if (tls == NULL) {
        file_watch_failed(&certificate->files);
        if (news == FILES_HAVE_CHANGED)
            LOG(LOG_WARNING,
                "the new TLS certificate or key cannot be used; the old ones stay in use",
                log_str("cert", certificate->cert_file), log_str("key", certificate->key_file),
                log_str("error", why));
        return;
    }
    SSL_CTX_free(certificate->tls);
    certificate->tls = tls;
    certificates_show("api", expiry_of(tls));
    LOG(LOG_INFO, "TLS certificate renewed", log_str("cert", certificate->cert_file),
        log_int("expires", expiry_of(tls)));
}

void tls_certificate_use(struct tls_certificate *certificate, SSL_CTX **tls)
{
    enum file_news news;

    pthread_mutex_lock(&certificate->lock);
    news = file_watch_look(&certificate->files);
    if (news != FILES_ARE_SAME)
        renew(certificate, news);
    if (*tls != certificate->tls) {
        SSL_CTX_free(*tls);
        SSL_CTX_up_ref(certificate->tls);
        *tls = certificate->tls;
    }
    pthread_mutex_unlock(&certificate->lock);
}

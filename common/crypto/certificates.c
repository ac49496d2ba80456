#include "common/crypto/certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/metrics.h"

_Static_assert(CERTIFICATES_MAX <= METRIC_LISTED_MAX, "each has its series");

struct certificate {
    char *name;
    char *file;        /* NULL: it is told */
    int64_t expires_s; /* 0: not known yet */
};

static struct metric *expiry; /* NULL: nobody asks */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct certificate all[CERTIFICATES_MAX];
static size_t n;

void certificates_open(void)
{
    expiry = metric_gauge_list("conversations_certificate_expiry_timestamp_seconds",
                               "When a certificate expires");
}

/* The lock is held. */
static struct certificate *find(const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    must(n < CERTIFICATES_MAX);
    all[n].name = strdup(name);
    must(all[n].name != NULL);
    return &all[n++];
}

static int64_t expiry_of(const X509 *certificate)
{
    struct tm when = {0};

    return ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &when) == 1 ? timegm(&when) : 0;
}

/* 0: there is no certificate in it. */
static int64_t first_expiry_in(const char *path)
{
    FILE *file = fopen(path, "re");
    int64_t first = 0, expires;
    X509 *certificate;

    if (file == NULL)
        return 0;
    while ((certificate = PEM_read_X509(file, NULL, NULL, (void *)"")) != NULL) {
        expires = expiry_of(certificate);
        first = first == 0 || expires < first ? expires : first;
        X509_free(certificate);
    }
    (void)fclose(file);
    ERR_clear_error();
    return first;
}

/* The lock is held. */
static void list(void)
{
    struct metric_series series[CERTIFICATES_MAX];
    size_t n_known = 0;

    for (size_t i = 0; i < n; i++) {
        if (all[i].expires_s == 0)
            continue;
        (void)snprintf(series[n_known].labels, sizeof(series[n_known].labels), "certificate=\"%s\"",
                       all[i].name);
        series[n_known++].value = all[i].expires_s;
    }
    metric_list(expiry, series, n_known);
}

void certificates_watch(const char *name, const char *file)
{
    struct certificate *certificate;

    if (expiry == NULL || file == NULL || file[0] == '\0')
        return;
    pthread_mutex_lock(&lock);
    certificate = find(name);
    if (certificate->file == NULL || strcmp(certificate->file, file) != 0) {
        free(certificate->file);
        certificate->file = strdup(file);
        must(certificate->file != NULL);
    }
    pthread_mutex_unlock(&lock);
}

void certificates_show(const char *name, int64_t expires_s)
{
    if (expiry == NULL)
        return;
    pthread_mutex_lock(&lock);
    find(name)->expires_s = expires_s;
    list();
    pthread_mutex_unlock(&lock);
}

void certificates_show_peer(const char *name, void *ssl)
{
    X509 *certificate = ssl != NULL ? SSL_get1_peer_certificate(ssl) : NULL;

    if (certificate != NULL)
        certificates_show(name, expiry_of(certificate));
    X509_free(certificate);
}

void certificates_read(void)
{
    if (expiry == NULL)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n; i++) {
        const int64_t first = all[i].file != NULL ? first_expiry_in(all[i].file) : 0;

        if (first != 0)
            all[i].expires_s = first;
    }
    list();
    pthread_mutex_unlock(&lock);
}

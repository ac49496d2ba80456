#include "services/webhook/ca_bundle.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/file_watch.h"
#include "common/base/log.h"

enum { SESSIONS_US = 300 * 1000 * 1000 };

#define SYSTEM_FILE "/etc/ssl/certs/ca-certificates.crt"

struct ca_bundle {
    X509_STORE *store;
    CURLSH *sessions;
    size_t n_users; /* with ca_bundles */
};

struct ca_bundles {
    const char *own_file; /* NULL = none */
    struct file_watch files;
    bool has_system; /* the system's have been read at least once */
    struct ca_bundle *current;
    int64_t renewal_us; /* clock_mono_us() */
};

/* -- one bundle -------------------------------------------------------------------------------- */

static struct ca_bundle *bundle_of(X509_STORE *store)
{
    struct ca_bundle *bundle = heap_zeroed(1, sizeof(*bundle));
    CURLSHcode code;

    bundle->store = store;
    bundle->n_users = 1;
    bundle->sessions = curl_share_init();
    must(bundle->sessions != NULL);
    code = curl_share_setopt(bundle->sessions, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    must(code == CURLSHE_OK);
    return bundle;
}

void ca_bundle_release(struct ca_bundle *bundle)
{
    CURLSHcode code;

    if (bundle == NULL || --bundle->n_users > 0)
        return;
    code = curl_share_cleanup(bundle->sessions);
    must(code == CURLSHE_OK);
    X509_STORE_free(bundle->store);
    free(bundle);
}

static CURLcode on_tls(CURL *easy, void *tls, void *closure)
{
    const struct ca_bundle *bundle = closure;

    SSL_CTX_set1_cert_store(tls, bundle->store);
    return CURLE_OK;
}

void ca_bundle_use(struct ca_bundle *bundle, CURL *easy)
{
    must(curl_easy_setopt(easy, CURLOPT_SHARE, bundle->sessions) == CURLE_OK);
    /* libcurl is to read no file of its own. */
    must(curl_easy_setopt(easy, CURLOPT_CAINFO, NULL) == CURLE_OK);
    must(curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK);
    /* Or it would keep the first store that it is given, and use that for a day. */
    must(curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L) == CURLE_OK);
    must(curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_tls) == CURLE_OK);
    must(curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, bundle) == CURLE_OK);
}

/* -- the files --------------------------------------------------------------------------------- */

/* NULL: they have been added; otherwise why not. */
static const char *add_certificates(X509_STORE *store, const char *file)
{
    const char *reason;
    unsigned long error;

    errno = 0;
    ERR_clear_error();
    if (X509_STORE_load_file(store, file) == 1)
        return NULL;
    reason = errno != 0 ? strerrordesc_np(errno) : NULL;
    error = ERR_peek_last_error();
    if (reason == NULL)
        reason = ERR_reason_error_string(error);
    ERR_clear_error();
    return reason != NULL ? reason : "unknown";
}

static X509_STORE *new_store(void)
{
    X509_STORE *store = X509_STORE_new();

    must(store != NULL);
    /* As libcurl has it: a certificate of the bundle is trusted even if its issuer is not in it. */
    X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
    return store;
}

/* NULL if a file cannot be used; logged if the files are `news`. */
static X509_STORE *read_files(struct ca_bundles *bundles, enum file_news news)
{
    X509_STORE *store = new_store();
    const char *wrong = add_certificates(store, SYSTEM_FILE);

    if (wrong != NULL && news == FILES_HAVE_CHANGED)
        LOG(LOG_WARNING, "the system's CA certificates cannot be read",
            log_str("file", SYSTEM_FILE), log_str("reason", wrong));
    if (wrong != NULL && bundles->has_system) {
        X509_STORE_free(store);
        return NULL;
    }
    bundles->has_system = wrong == NULL;
    wrong = bundles->own_file != NULL ? add_certificates(store, bundles->own_file) : NULL;
    if (wrong == NULL)
        return store;
    if (news == FILES_HAVE_CHANGED)
        LOG(LOG_ERROR, "WEBHOOK_CA_FILE cannot be read", log_str("file", bundles->own_file),
            log_str("reason", wrong));
    X509_STORE_free(store);
    return NULL;
}

/* -- the current bundle ------------------------------------------------------------------------ */

static void replace(struct ca_bundles *bundles, X509_STORE *store)
{
    ca_bundle_release(bundles->current);
    bundles->current = bundle_of(store);
    bundles->renewal_us = clock_mono_us() + SESSIONS_US;
}

static void check_files(struct ca_bundles *bundles)
{
    const enum file_news news = file_watch_look(&bundles->files);
    X509_STORE *store;

    if (news == FILES_ARE_SAME)
        return;
    store = read_files(bundles, news);
    if (store != NULL) {
        LOG(LOG_INFO, "CA certificates were read again");
        replace(bundles, store);
        return;
    }
    file_watch_failed(&bundles->files);
    if (news == FILES_HAVE_CHANGED)
        LOG(LOG_WARNING, "the CA certificates read before stay in force");
}

static void forget_sessions(struct ca_bundles *bundles)
{
    X509_STORE *store = bundles->current->store;

    must(X509_STORE_up_ref(store) == 1);
    replace(bundles, store);
}

struct ca_bundle *ca_bundle_take(struct ca_bundles *bundles)
{
    check_files(bundles);
    if (clock_mono_us() >= bundles->renewal_us)
        forget_sessions(bundles);
    bundles->current->n_users++;
    return bundles->current;
}

struct ca_bundles *ca_bundles_new(const char *file)
{
    struct ca_bundles *bundles = heap_zeroed(1, sizeof(*bundles));
    X509_STORE *store;

    bundles->own_file = file;
    bundles->files = file_watch_of(SYSTEM_FILE, file);
    store = read_files(bundles, FILES_HAVE_CHANGED);
    if (store == NULL) {
        free(bundles);
        return NULL;
    }
    replace(bundles, store);
    return bundles;
}

void ca_bundles_free(struct ca_bundles *bundles)
{
    if (bundles == NULL)
        return;
    ca_bundle_release(bundles->current);
    free(bundles);
}

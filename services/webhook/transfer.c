#include "services/webhook/transfer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/ip.h"
#include "common/base/log.h"

/* -- the CA bundle ----------------------------------------------------------------------------- */

#define SYSTEM_FILE "/etc/ssl/certs/ca-certificates.crt"

static bool append(const char *file, int to)
{
    char bytes[8192];
    FILE *from = fopen(file, "re");
    bool is_fine = from != NULL;
    size_t n;

    while (is_fine && (n = fread(bytes, 1, sizeof(bytes), from)) > 0)
        is_fine = write(to, bytes, n) == (ssize_t)n;
    is_fine = is_fine && !ferror(from) && write(to, "\n", 1) == 1;
    if (from != NULL)
        fclose(from);
    return is_fine;
}

int ca_bundle_open(const char *file, char path[CA_BUNDLE_PATH])
{
    const int fd = memfd_create("ca-bundle", MFD_CLOEXEC);

    must(fd >= 0);
    if (!append(SYSTEM_FILE, fd))
        LOG(LOG_WARNING, "the system has no CA certificates", log_str("file", SYSTEM_FILE));
    if (file != NULL && !append(file, fd)) {
        LOG(LOG_ERROR, "WEBHOOK_CA_FILE cannot be read", log_str("file", file));
        close(fd);
        return -1;
    }
    snprintf(path, CA_BUNDLE_PATH, "/proc/self/fd/%d", fd);
    return fd;
}

void ca_bundle_close(int fd)
{
    close(fd);
}

/* -- what libcurl's result means --------------------------------------------------------------- */

static enum failure classify_status(int status)
{
    if (status >= 200 && status < 300)
        return FAILURE_NONE;
    if (status >= 300 && status < 400)
        return FAILURE_HTTP_3XX;
    if (status >= 400 && status < 500)
        return FAILURE_HTTP_4XX;
    return status >= 500 && status < 600 ? FAILURE_HTTP_5XX : FAILURE_HTTP_OTHER;
}

enum failure transfer_failure(CURLcode code, const struct attempt *attempt)
{
    switch (code) {
    case CURLE_OK:
        return classify_status(attempt->http_status);
    case CURLE_OPERATION_TIMEDOUT:
        return FAILURE_TIMEOUT;
    case CURLE_COULDNT_CONNECT:
        return FAILURE_CONNECT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
        return FAILURE_TLS;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
        return attempt->tls_us >= 0 ? FAILURE_CLOSED : FAILURE_TLS;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_BAD_FUNCTION_ARGUMENT:
        /* libcurl returns these for a header line that is too long or malformed. Their literal
           meanings are ruled out: either would have ended the process. */
        return attempt->tls_us >= 0 ? FAILURE_PROTOCOL : FAILURE_INTERNAL;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_BAD_CONTENT_ENCODING:
        return FAILURE_PROTOCOL;
    default:
        LOG(LOG_WARNING, "a delivery failed for an unknown reason", log_int("curl", code));
        return FAILURE_INTERNAL;
    }
}

enum { HEADERS_MAX = 16 * 1024, HEADER_TEXT = 160 };

/* A setting that libcurl rejects is a bug of ours; we must not send without it. */
#define SET(easy, option, value) must(curl_easy_setopt((easy), (option), (value)) == CURLE_OK)

/* -- callbacks of libcurl ---------------------------------------------------------------------- */

/* The second check, of the address that libcurl is about to connect to. */
static curl_socket_t on_open_socket(void *closure, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct transfer *transfer = closure;
    const struct address address = address_of(&to->addr);
    int fd;

    if (purpose != CURLSOCKTYPE_IPCXN || !address_equal(&address, &transfer->attempt->address)) {
        transfer->was_blocked = true;
        return CURL_SOCKET_BAD;
    }
    fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    transfer->lacked_socket = fd < 0;
    return fd >= 0 ? fd : CURL_SOCKET_BAD;
}

static size_t on_header(char *bytes, size_t size, size_t n, void *closure)
{
    struct transfer *transfer = closure;

    transfer->headers_n += n;
    transfer->headers_are_too_large = transfer->headers_n > HEADERS_MAX;
    return transfer->headers_are_too_large ? 0 : n;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *closure)
{
    struct transfer *transfer = closure;
    struct attempt *attempt = transfer->attempt;
    const size_t capacity = sizeof(attempt->excerpt) - attempt->excerpt_n;
    const size_t taken = n < capacity ? n : capacity;

    memcpy(attempt->excerpt + attempt->excerpt_n, bytes, taken);
    attempt->excerpt_n += taken;
    transfer->is_cut = attempt->excerpt_n == sizeof(attempt->excerpt);
    return transfer->is_cut ? 0 : n;
}

/* -- settings of libcurl ----------------------------------------------------------------------- */

static void add_header(struct transfer *transfer, const char *name, struct str value)
{
    char line[HEADER_TEXT];
    struct curl_slist *longer;
    const int n = snprintf(line, sizeof(line), "%s: %.*s", name, STR_ARG(value));

    must(n > 0 && (size_t)n < sizeof(line));
    longer = curl_slist_append(transfer->headers, line);
    must(longer != NULL);
    transfer->headers = longer;
}

static void add_headers(struct transfer *transfer)
{
    const struct attempt *attempt = transfer->attempt;
    char timestamp[24];

    add_header(transfer, "Content-Type", STR("application/json"));
    add_header(transfer, "X-Service-Event", attempt->event_type);
    add_header(transfer, "X-Service-Delivery", attempt->id);
    if (attempt->signature[0] != '\0') {
        snprintf(timestamp, sizeof(timestamp), "%" PRId64, attempt->timestamp);
        add_header(transfer, "X-Service-Timestamp", str_of(timestamp));
        add_header(transfer, "X-Service-Signature", str_of(attempt->signature));
    }
    /* Otherwise libcurl sends "Expect: 100-continue" with a larger body and waits. */
    add_header(transfer, "Expect", STR(""));
    SET(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
}

/* Connects to this address, whatever the host of the URL. */
static void pin(struct transfer *transfer)
{
    const struct attempt *attempt = transfer->attempt;
    char address[ADDRESS_TEXT], text[ADDRESS_TEXT + 16];

    address_format(&attempt->address, address);
    snprintf(text, sizeof(text), strchr(address, ':') != NULL ? "::[%s]:%u" : "::%s:%u", address,
             attempt->parsed_url.port);
    transfer->connect_to = curl_slist_append(NULL, text);
    must(transfer->connect_to != NULL);
    SET(transfer->easy, CURLOPT_CONNECT_TO, transfer->connect_to);
    SET(transfer->easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    SET(transfer->easy, CURLOPT_OPENSOCKETDATA, transfer);
    SET(transfer->easy, CURLOPT_PROXY, "");
    SET(transfer->easy, CURLOPT_NOPROXY, "*");
}

static void set_limits(struct transfer *transfer, const char *ca_path)
{
    CURL *easy = transfer->easy;
    const long left_ms = attempt_left_ms(transfer->attempt);

    SET(easy, CURLOPT_PROTOCOLS_STR, "https");
    SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    SET(easy, CURLOPT_TIMEOUT_MS, left_ms > 0 ? left_ms : 1);
    SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)ATTEMPT_LIMIT_MS);
    SET(easy, CURLOPT_FRESH_CONNECT, 1L);
    SET(easy, CURLOPT_FORBID_REUSE, 1L);
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    /* Only with a file and no directory, libcurl reads the CA bundle once for all connections. */
    SET(easy, CURLOPT_CAINFO, ca_path);
    SET(easy, CURLOPT_CAPATH, NULL);
    SET(easy, CURLOPT_PATH_AS_IS, 1L);
}

static void set_callbacks(struct transfer *transfer)
{
    CURL *easy = transfer->easy;

    SET(easy, CURLOPT_PRIVATE, transfer);
    SET(easy, CURLOPT_HEADERFUNCTION, on_header);
    SET(easy, CURLOPT_HEADERDATA, transfer);
    SET(easy, CURLOPT_WRITEFUNCTION, on_body);
    SET(easy, CURLOPT_WRITEDATA, transfer);
}

static void set_request(struct transfer *transfer)
{
    const struct attempt *attempt = transfer->attempt;
    char url[WEBHOOK_URL_MAX + 1];

    must(attempt->url.n < sizeof(url));
    memcpy(url, attempt->url.p, attempt->url.n);
    url[attempt->url.n] = '\0';
    SET(transfer->easy, CURLOPT_URL, url);
    SET(transfer->easy, CURLOPT_USERAGENT, "conversations-webhook/1");
    SET(transfer->easy, CURLOPT_POSTFIELDSIZE, (long)attempt->body.n);
    SET(transfer->easy, CURLOPT_POSTFIELDS, attempt->body.p);
    add_headers(transfer);
}

void transfer_set_up(struct transfer *transfer, struct attempt *attempt, const char *ca_path,
                     CURLSH *sessions)
{
    transfer->attempt = attempt;
    transfer->easy = curl_easy_init();
    must(transfer->easy != NULL);
    SET(transfer->easy, CURLOPT_SHARE, sessions);
    set_limits(transfer, ca_path);
    set_callbacks(transfer);
    pin(transfer);
    set_request(transfer);
}

/* -- the result -------------------------------------------------------------------------------- */

/* libcurl's times count from its own start; 0 means that the phase was not reached. */
static void read_phases(struct transfer *transfer)
{
    struct attempt *attempt = transfer->attempt;
    curl_off_t connected = 0, secured = 0, answered = 0;
    long status = 0;

    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(transfer->easy, CURLINFO_CONNECT_TIME_T, &connected);
    curl_easy_getinfo(transfer->easy, CURLINFO_APPCONNECT_TIME_T, &secured);
    curl_easy_getinfo(transfer->easy, CURLINFO_STARTTRANSFER_TIME_T, &answered);
    attempt->http_status = (int)status;
    attempt->connect_us = connected > 0 ? connected : -1;
    attempt->tls_us = secured > 0 ? secured - connected : -1;
    attempt->wait_us = status > 0 && answered >= secured ? answered - secured : -1;
}

static enum failure classify(const struct transfer *transfer, CURLcode code)
{
    if (transfer->was_blocked)
        return FAILURE_BLOCKED;
    if (transfer->lacked_socket)
        return FAILURE_INTERNAL;
    if (transfer->headers_are_too_large)
        return FAILURE_PROTOCOL;
    /* on_body() ended the transfer, having read enough. */
    if (code == CURLE_WRITE_ERROR && transfer->is_cut)
        code = CURLE_OK;
    return transfer_failure(code, transfer->attempt);
}

void transfer_classify(struct transfer *transfer, CURLcode code)
{
    read_phases(transfer);
    attempt_end(transfer->attempt, classify(transfer, code));
}

/* -- one request, from its start to its end ---------------------------------------------------- */

struct transfer *transfer_new(void)
{
    return heap_zeroed(1, sizeof(struct transfer));
}

/* Handles are not reused: libcurl 7.88 frees the last header of a response but keeps the pointer,
   even across curl_easy_reset(). If the next response begins with a continuation line, libcurl
   appends that to the freed header. */
void transfer_free(struct transfer *transfer)
{
    curl_easy_cleanup(transfer->easy);
    curl_slist_free_all(transfer->headers);
    curl_slist_free_all(transfer->connect_to);
    free(transfer);
}

enum { FDS_MAX = 32, SESSIONS_US = 300 * 1000 * 1000 };

struct transfers {
    struct transfers_options options;
    CURLM *multi;
    CURLSH *sessions, *old_sessions;
    int64_t renewal_us; /* clock_mono_us() */
    char ca_path[CA_BUNDLE_PATH];
    int ca_fd;
};

/* -- TLS sessions ------------------------------------------------------------------------------ */

static CURLSH *new_sessions(void)
{
    CURLSH *sessions = curl_share_init();
    CURLSHcode code;

    must(sessions != NULL);
    code = curl_share_setopt(sessions, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    must(code == CURLSHE_OK);
    return sessions;
}

/* False: a transfer still uses them. */
static bool free_sessions(CURLSH *sessions)
{
    return sessions == NULL || curl_share_cleanup(sessions) == CURLSHE_OK;
}

/* Transfers under way keep the sessions with which they began. They end long before the next
   renewal, unless the process was suspended. */
static void renew_sessions(struct transfers *transfers)
{
    const int64_t now_us = clock_mono_us();

    if (now_us < transfers->renewal_us || !free_sessions(transfers->old_sessions))
        return;
    transfers->old_sessions = transfers->sessions;
    transfers->sessions = new_sessions();
    transfers->renewal_us = now_us + SESSIONS_US;
}

/* -- all of them: beginning and ending --------------------------------------------------------- */

void transfers_begin(struct transfers *transfers, struct attempt *attempt)
{
    struct transfer *transfer = transfer_new();
    CURLMcode code;

    renew_sessions(transfers);
    attempt->transfer = transfer;
    transfer_set_up(transfer, attempt, transfers->ca_path, transfers->sessions);
    code = curl_multi_add_handle(transfers->multi, transfer->easy);
    must(code == CURLM_OK);
}

void transfers_release(struct transfers *transfers, struct attempt *attempt)
{
    struct transfer *transfer = attempt->transfer;

    attempt->transfer = NULL;
    curl_multi_remove_handle(transfers->multi, transfer->easy);
    transfer_free(transfer);
}

static void finish(struct transfers *transfers, struct transfer *transfer, CURLcode code)
{
    struct attempt *attempt = transfer->attempt;

    transfer_classify(transfer, code);
    transfers_release(transfers, attempt);
    transfers->options.on_end(transfers->options.closure, attempt);
}

void transfers_step(struct transfers *transfers)
{
    CURLMsg *message;
    int running, left;
    CURLMcode code = curl_multi_perform(transfers->multi, &running);

    must(code == CURLM_OK);
    while ((message = curl_multi_info_read(transfers->multi, &left)) != NULL) {
        struct transfer *transfer;
        CURLcode found;

        if (message->msg != CURLMSG_DONE)
            continue;
        found = curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        must(found == CURLE_OK);
        finish(transfers, transfer, message->data.result);
    }
}

/* -- all of them: waiting ---------------------------------------------------------------------- */

void transfers_wait(struct transfers *transfers, struct pollfd *fds, size_t n, int timeout_ms)
{
    struct curl_waitfd waited[FDS_MAX];
    CURLMcode code;

    must(n <= FDS_MAX);
    /* libcurl has its own names for the flags, with the same meanings. */
    for (size_t i = 0; i < n; i++)
        waited[i] = (struct curl_waitfd){
            .fd = fds[i].fd,
            .events = (short)((fds[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
                              (fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0)),
        };
    code = curl_multi_poll(transfers->multi, waited, (unsigned)n, timeout_ms, NULL);
    must(code == CURLM_OK);
    for (size_t i = 0; i < n; i++)
        fds[i].revents = (short)((waited[i].revents & CURL_WAIT_POLLIN ? POLLIN : 0) |
                                 (waited[i].revents & CURL_WAIT_POLLOUT ? POLLOUT : 0));
}

void transfers_wake(struct transfers *transfers)
{
    curl_multi_wakeup(transfers->multi);
}

/* -- all of them, from start to end ------------------------------------------------------------ */

struct transfers *transfers_new(const struct transfers_options *options)
{
    struct transfers *transfers = calloc(1, sizeof(*transfers));
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);

    must(transfers != NULL && code == CURLE_OK);
    transfers->options = *options;
    transfers->ca_fd = ca_bundle_open(options->ca_file, transfers->ca_path);
    if (transfers->ca_fd < 0) {
        free(transfers);
        return NULL;
    }
    transfers->multi = curl_multi_init();
    must(transfers->multi != NULL);
    return transfers;
}

void transfers_free(struct transfers *transfers)
{
    if (transfers == NULL)
        return;
    curl_multi_cleanup(transfers->multi);
    must(free_sessions(transfers->old_sessions) && free_sessions(transfers->sessions));
    curl_global_cleanup();
    ca_bundle_close(transfers->ca_fd);
    free(transfers);
}

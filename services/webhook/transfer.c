#include "services/webhook/transfer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/ip.h"
#include "common/base/log.h"
#include "services/webhook/ca_bundle.h"

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

enum { TOO_LARGE = 100 }; /* CURLE_TOO_LARGE, since 8.6 */

enum failure transfer_failure(CURLcode code, const struct attempt *attempt)
{
    switch ((int)code) {
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
    case TOO_LARGE:
        /* libcurl returns these for a header line that is too long or malformed. Their literal
           meanings are ruled out: each would have ended the process. */
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

/* libcurl gets the connected socket instead of opening one: the second check, of the address that it
   believes to connect to. */
static curl_socket_t on_open_socket(void *closure, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct transfer *transfer = closure;
    const struct address address = address_of(&to->addr);
    const int fd = transfer->fd;

    if (purpose != CURLSOCKTYPE_IPCXN || !address_equal(&address, &transfer->attempt->address)) {
        transfer->was_blocked = true;
        return CURL_SOCKET_BAD;
    }
    transfer->fd = -1;
    return fd;
}

/* libcurl 7.88 calls connect() even so. Linux returns 0 from the first call after a connection that
   began with EINPROGRESS is complete, and every connection of connect.c begins so: without TCP Fast
   Open, a socket that does not block is never connected at once. */
static int on_socket(void *closure, curl_socket_t fd, curlsocktype purpose)
{
    return CURL_SOCKOPT_ALREADY_CONNECTED;
}

/* The connection is complete, TLS included; nothing of the request has been sent. */
static int on_request(void *closure, char *their_address, char *our_address, int their_port,
                      int our_port)
{
    struct transfer *transfer = closure;

    transfer->is_requesting = true;
    transfer->attempt->due_us = attempt_limit_us(transfer->attempt);
    return CURL_PREREQFUNC_OK;
}

/* The headers of the final response are complete: its status decides. */
static void note_answer(struct transfer *transfer)
{
    struct attempt *attempt = transfer->attempt;
    const int64_t due_us = clock_mono_us() + ATTEMPT_BODY_MS * INT64_C(1000);
    long status = 0;

    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200 || transfer->is_answered)
        return;
    transfer->is_answered = true;
    if (due_us < attempt->due_us)
        attempt->due_us = due_us;
}

/* Called for each line, among them the status line and the empty one. Newer versions of libcurl take a
   first header line that continues none. */
static size_t on_header(char *bytes, size_t size, size_t n, void *closure)
{
    struct transfer *transfer = closure;
    const char first = n > 0 ? bytes[0] : '\0';
    const bool is_end = first == '\r' || first == '\n', goes_on = first == ' ' || first == '\t';

    transfer->headers_n += n;
    transfer->headers_are_bad =
        transfer->headers_n > HEADERS_MAX || (goes_on && transfer->lines == 1);
    if (transfer->headers_are_bad)
        return 0;
    transfer->lines = is_end ? 0 : transfer->lines + 1;
    if (is_end)
        note_answer(transfer);
    return n;
}

/* 0 ends the transfer: enough has been read. */
static size_t on_body(char *bytes, size_t size, size_t n, void *closure)
{
    struct transfer *transfer = closure;
    struct attempt *attempt = transfer->attempt;
    const size_t capacity = sizeof(attempt->excerpt) - attempt->excerpt_n;
    const size_t taken = n < capacity ? n : capacity;

    memcpy(attempt->excerpt + attempt->excerpt_n, bytes, taken);
    attempt->excerpt_n += taken;
    return attempt->excerpt_n < sizeof(attempt->excerpt) ? n : 0;
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
    SET(transfer->easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
    SET(transfer->easy, CURLOPT_PROXY, "");
    SET(transfer->easy, CURLOPT_NOPROXY, "*");
}

/* Time is limited by the owner of the attempt. */
static void set_limits(struct transfer *transfer)
{
    CURL *easy = transfer->easy;

    SET(easy, CURLOPT_PROTOCOLS_STR, "https");
    SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)ATTEMPT_LIMIT_MS);
    SET(easy, CURLOPT_FRESH_CONNECT, 1L);
    SET(easy, CURLOPT_FORBID_REUSE, 1L);
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    SET(easy, CURLOPT_PATH_AS_IS, 1L);
}

static void set_callbacks(struct transfer *transfer)
{
    CURL *easy = transfer->easy;

    SET(easy, CURLOPT_PRIVATE, transfer);
    SET(easy, CURLOPT_PREREQFUNCTION, on_request);
    SET(easy, CURLOPT_PREREQDATA, transfer);
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

void transfer_set_up(struct transfer *transfer, struct attempt *attempt, int fd,
                     struct ca_bundle *bundle)
{
    transfer->attempt = attempt;
    transfer->fd = fd;
    transfer->bundle = bundle;
    transfer->easy = curl_easy_init();
    must(transfer->easy != NULL);
    if (bundle != NULL)
        ca_bundle_use(bundle, transfer->easy);
    set_limits(transfer);
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
    attempt->tls_us = secured > 0 ? secured - connected : -1;
    attempt->wait_us = status > 0 && answered >= secured ? answered - secured : -1;
}

enum failure transfer_classify(struct transfer *transfer, CURLcode code)
{
    read_phases(transfer);
    if (transfer->was_blocked)
        return FAILURE_BLOCKED;
    if (transfer->is_answered)
        return classify_status(transfer->attempt->http_status);
    if (transfer->headers_are_bad)
        return FAILURE_PROTOCOL;
    return transfer_failure(code, transfer->attempt);
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
    if (transfer->fd >= 0)
        close(transfer->fd);
    ca_bundle_release(transfer->bundle);
    free(transfer);
}

#include "services/webhook/deliver.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/network.h"
#include "services/webhook/authorities.h"
#include "services/webhook/verdict.h"

enum { HEAD_MOST = 16 * 1024, FDS_MOST = 32, HEADER_TEXT = 160 };

struct deliver {
    struct deliver_options options;
    CURLM *multi;
    char ca_path[AUTHORITIES_PATH];
    int ca_fd;
    struct transfer *idle; /* handles that can be used again */
};

struct transfer {
    struct attempt *attempt;
    CURL *easy;
    struct curl_slist *headers, *connect_to;
    size_t head_n;    /* bytes of the answer's head so far */
    bool is_cut;      /* the answer is longer than what is kept of it */
    bool is_strange;  /* its head is longer than any should be */
    bool was_blocked; /* by the second look */
    struct transfer *next;
};

/* A setting that libcurl does not take is a mistake of ours: sending without it is no choice. */
#define SET(easy, option, value) must(curl_easy_setopt((easy), (option), (value)) == CURLE_OK)

/* -- what libcurl calls ----------------------------------------------------------------------- */

/* The second look, at the very address that is about to be used. */
static curl_socket_t on_open_socket(void *closure, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct transfer *transfer = closure;
    const struct address address = address_of(&to->addr);

    if (purpose != CURLSOCKTYPE_IPCXN || !address_equal(&address, &transfer->attempt->address)) {
        transfer->was_blocked = true;
        return CURL_SOCKET_BAD;
    }
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static size_t on_head(char *bytes, size_t size, size_t n, void *closure)
{
    struct transfer *transfer = closure;

    transfer->head_n += n;
    transfer->is_strange = transfer->head_n > HEAD_MOST;
    return transfer->is_strange ? 0 : n;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *closure)
{
    struct transfer *transfer = closure;
    struct attempt *attempt = transfer->attempt;
    const size_t room = sizeof(attempt->excerpt) - attempt->excerpt_n;
    const size_t taken = n < room ? n : room;

    memcpy(attempt->excerpt + attempt->excerpt_n, bytes, taken);
    attempt->excerpt_n += taken;
    transfer->is_cut = taken < n;
    return taken;
}

/* -- the request ------------------------------------------------------------------------------ */

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
    /* libcurl would ask first whether a larger body is welcome. */
    add_header(transfer, "Expect", STR(""));
    SET(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
}

/* Whatever the host of the URL: this address. */
static void pin(struct transfer *transfer)
{
    const struct attempt *attempt = transfer->attempt;
    char address[ADDRESS_TEXT], text[ADDRESS_TEXT + 16];

    address_format(&attempt->address, address);
    snprintf(text, sizeof(text), strchr(address, ':') != NULL ? "::[%s]:%u" : "::%s:%u", address,
             attempt->destination.port);
    transfer->connect_to = curl_slist_append(NULL, text);
    must(transfer->connect_to != NULL);
    SET(transfer->easy, CURLOPT_CONNECT_TO, transfer->connect_to);
    SET(transfer->easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    SET(transfer->easy, CURLOPT_OPENSOCKETDATA, transfer);
    SET(transfer->easy, CURLOPT_PROXY, "");
    SET(transfer->easy, CURLOPT_NOPROXY, "*");
}

static void set_limits(const struct deliver *deliver, struct transfer *transfer)
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
    /* One file and no folder: only then libcurl reads the authorities once for all connections. */
    SET(easy, CURLOPT_CAINFO, deliver->ca_path);
    SET(easy, CURLOPT_CAPATH, NULL);
    SET(easy, CURLOPT_PATH_AS_IS, 1L);
}

static void set_answer(struct transfer *transfer)
{
    CURL *easy = transfer->easy;

    SET(easy, CURLOPT_PRIVATE, transfer);
    SET(easy, CURLOPT_HEADERFUNCTION, on_head);
    SET(easy, CURLOPT_HEADERDATA, transfer);
    SET(easy, CURLOPT_WRITEFUNCTION, on_body);
    SET(easy, CURLOPT_WRITEDATA, transfer);
}

static struct transfer *new_transfer(struct deliver *deliver, struct attempt *attempt)
{
    struct transfer *transfer = deliver->idle;

    if (transfer == NULL) {
        transfer = calloc(1, sizeof(*transfer));
        must(transfer != NULL && (transfer->easy = curl_easy_init()) != NULL);
    } else {
        deliver->idle = transfer->next;
        *transfer = (struct transfer){.easy = transfer->easy};
    }
    transfer->attempt = attempt;
    return transfer;
}

static void release(struct deliver *deliver, struct transfer *transfer)
{
    curl_easy_reset(transfer->easy);
    curl_slist_free_all(transfer->headers);
    curl_slist_free_all(transfer->connect_to);
    transfer->next = deliver->idle;
    deliver->idle = transfer;
}

void deliver_begin(struct deliver *deliver, struct attempt *attempt)
{
    struct transfer *transfer = new_transfer(deliver, attempt);
    char url[DESTINATION_URL_MOST + 1];

    must(attempt->url.n < sizeof(url));
    memcpy(url, attempt->url.p, attempt->url.n);
    url[attempt->url.n] = '\0';
    attempt->transfer = transfer;
    set_limits(deliver, transfer);
    set_answer(transfer);
    pin(transfer);
    SET(transfer->easy, CURLOPT_URL, url);
    SET(transfer->easy, CURLOPT_USERAGENT, "conversations-webhook/1");
    SET(transfer->easy, CURLOPT_POSTFIELDSIZE, (long)attempt->body.n);
    SET(transfer->easy, CURLOPT_POSTFIELDS, attempt->body.p);
    add_headers(transfer);
    must(curl_multi_add_handle(deliver->multi, transfer->easy) == CURLM_OK);
}

/* -- the end ---------------------------------------------------------------------------------- */

/* libcurl counts from its own start and says 0 for a phase that was not reached. */
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

static enum failure judge(const struct transfer *transfer, CURLcode code)
{
    if (transfer->was_blocked)
        return FAILURE_BLOCKED;
    if (transfer->is_strange)
        return FAILURE_PROTOCOL;
    /* We have hung up ourselves, having read enough. */
    if (code == CURLE_WRITE_ERROR && transfer->is_cut)
        code = CURLE_OK;
    return verdict_of(code, transfer->attempt);
}

static void finish(struct deliver *deliver, struct transfer *transfer, CURLcode code)
{
    struct attempt *attempt = transfer->attempt;

    read_phases(transfer);
    attempt_end(attempt, judge(transfer, code));
    attempt->transfer = NULL;
    curl_multi_remove_handle(deliver->multi, transfer->easy);
    release(deliver, transfer);
    deliver->options.on_end(deliver->options.closure, attempt);
}

void deliver_abandon(struct deliver *deliver, struct attempt *attempt)
{
    struct transfer *transfer = attempt->transfer;

    attempt->transfer = NULL;
    curl_multi_remove_handle(deliver->multi, transfer->easy);
    release(deliver, transfer);
}

void deliver_turn(struct deliver *deliver)
{
    CURLMsg *message;
    int running, left;

    must(curl_multi_perform(deliver->multi, &running) == CURLM_OK);
    while ((message = curl_multi_info_read(deliver->multi, &left)) != NULL) {
        struct transfer *transfer;

        if (message->msg != CURLMSG_DONE)
            continue;
        must(curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer) == CURLE_OK);
        finish(deliver, transfer, message->data.result);
    }
}

/* -- waiting ---------------------------------------------------------------------------------- */

void deliver_wait(struct deliver *deliver, struct pollfd *fds, size_t n, int timeout_ms)
{
    struct curl_waitfd waited[FDS_MOST];

    must(n <= FDS_MOST);
    /* The flags have libcurl's names and the same meaning. */
    for (size_t i = 0; i < n; i++)
        waited[i] = (struct curl_waitfd){
            .fd = fds[i].fd,
            .events = (short)((fds[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
                              (fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0)),
        };
    must(curl_multi_poll(deliver->multi, waited, (unsigned)n, timeout_ms, NULL) == CURLM_OK);
    for (size_t i = 0; i < n; i++)
        fds[i].revents = (short)((waited[i].revents & CURL_WAIT_POLLIN ? POLLIN : 0) |
                                 (waited[i].revents & CURL_WAIT_POLLOUT ? POLLOUT : 0));
}

void deliver_wake(struct deliver *deliver)
{
    curl_multi_wakeup(deliver->multi);
}

/* -- opening and closing ----------------------------------------------------------------------- */

struct deliver *deliver_new(const struct deliver_options *options)
{
    struct deliver *deliver = calloc(1, sizeof(*deliver));

    must(deliver != NULL && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    deliver->options = *options;
    deliver->ca_fd = authorities_gather(options->ca_file, deliver->ca_path);
    if (deliver->ca_fd < 0) {
        free(deliver);
        return NULL;
    }
    deliver->multi = curl_multi_init();
    must(deliver->multi != NULL);
    return deliver;
}

void deliver_free(struct deliver *deliver)
{
    struct transfer *transfer;

    if (deliver == NULL)
        return;
    while ((transfer = deliver->idle) != NULL) {
        deliver->idle = transfer->next;
        curl_easy_cleanup(transfer->easy);
        free(transfer);
    }
    curl_multi_cleanup(deliver->multi);
    curl_global_cleanup();
    authorities_release(deliver->ca_fd);
    free(deliver);
}

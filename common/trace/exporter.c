#include "common/trace/exporter.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "common/json/json.h"

enum { TIMEOUT_US = 5 * 1000 * 1000, POLL_MS = 100, URL_MAX = 1024, HEADER_MAX = 4096 };

/* An option that libcurl refuses is a bug of ours. */
#define SET(easy, option, value) must(curl_easy_setopt((easy), (option), (value)) == CURLE_OK)

struct post {
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    char url[URL_MAX];
    char why[CURL_ERROR_SIZE];
    atomic_int_least64_t until_us;
};

/* -- settings -------------------------------------------------------------------------------- */

static bool read_endpoint(struct post *post, struct str endpoint)
{
    while (endpoint.n > 0 && endpoint.p[endpoint.n - 1] == '/')
        endpoint.n--;
    if (endpoint.n > URL_MAX - sizeof("/v1/traces") ||
        !(str_starts(endpoint, STR("http://")) || str_starts(endpoint, STR("https://"))))
        return false;
    snprintf(post->url, sizeof(post->url), "%.*s/v1/traces", STR_ARG(endpoint));
    return true;
}

static void add_header(struct post *post, const char *line)
{
    struct curl_slist *longer = curl_slist_append(post->headers, line);

    must(longer != NULL);
    post->headers = longer;
}

/* One "name=value", the value encoded as in URLs. */
static bool read_header(struct post *post, struct str pair)
{
    struct str name = str_trim_ows(str_cut(&pair, '='));
    char line[HEADER_MAX];
    int n = 0;
    char *value;
    bool is_good;

    if (pair.p == NULL || name.n == 0 || pair.n > HEADER_MAX)
        return false;
    value = curl_easy_unescape(post->easy, pair.p, (int)pair.n, &n);
    is_good = value != NULL && strlen(value) == (size_t)n && value[strcspn(value, "\r\n")] == '\0';
    if (is_good) {
        int written = snprintf(line, sizeof(line), "%.*s: %s", STR_ARG(name), value);

        is_good = written > 0 && (size_t)written < sizeof(line);
    }
    if (is_good)
        add_header(post, line);
    explicit_bzero(line, sizeof(line));
    curl_free(value);
    return is_good;
}

static bool read_headers(struct post *post, struct str list)
{
    while (list.n > 0)
        if (!read_header(post, str_cut(&list, ',')))
            return false;
    return true;
}

/* -- sending --------------------------------------------------------------------------------- */

/* Ignores the body of the collector's answer. */
static size_t on_body(char *data, size_t size, size_t n, void *closure)
{
    return size * n;
}

static void set_up(struct post *post, const char *ca_file)
{
    CURL *easy = post->easy;

    add_header(post, "Content-Type: application/json");
    add_header(post, "Expect:");
    SET(easy, CURLOPT_URL, post->url);
    SET(easy, CURLOPT_HTTPHEADER, post->headers);
    SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    SET(easy, CURLOPT_NOPROXY, "*");
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    /* A name that is still being looked up does not delay the stop: its thread ends by itself. */
    SET(easy, CURLOPT_QUICK_EXIT, 1L);
    SET(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(easy, CURLOPT_USERAGENT, "conversations/1");
    SET(easy, CURLOPT_WRITEFUNCTION, on_body);
    SET(easy, CURLOPT_ERRORBUFFER, post->why);
    /* Reads the file again for each connection, instead of once a day. */
    SET(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
    if (ca_file[0] != '\0')
        SET(easy, CURLOPT_CAINFO, ca_file);
}

struct post *post_open(const struct trace_settings *settings, char error[256])
{
    struct post *post = calloc(1, sizeof(*post));
    const char *wrong = NULL;
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);

    must(post != NULL && code == CURLE_OK);
    post->multi = curl_multi_init();
    post->easy = curl_easy_init();
    must(post->multi != NULL && post->easy != NULL);
    atomic_init(&post->until_us, INT64_MAX);
    if (!read_endpoint(post, str_of(settings->endpoint)))
        wrong = "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL of http or https";
    else if (!read_headers(post, str_of(settings->headers)))
        wrong = "OTEL_EXPORTER_OTLP_HEADERS must be name=value, separated by commas";
    if (wrong == NULL) {
        set_up(post, settings->ca_file);
        return post;
    }
    snprintf(error, 256, "%s", wrong);
    post_close(post);
    return NULL;
}

void post_close(struct post *post)
{
    CURLMcode code;

    curl_easy_cleanup(post->easy);
    code = curl_multi_cleanup(post->multi);
    must(code == CURLM_OK);
    curl_slist_free_all(post->headers);
    curl_global_cleanup();
    free(post);
}

static bool is_over(const struct post *post, int64_t until_us)
{
    int64_t now_us = clock_mono_us();

    return now_us >= until_us || now_us >= atomic_load(&post->until_us);
}

/* True: there was an answer. */
static bool perform(struct post *post)
{
    int64_t until_us = clock_mono_us() + TIMEOUT_US;
    const CURLMsg *message = NULL;
    int running = 0, left = 0;
    CURLMcode code;

    while (!is_over(post, until_us)) {
        code = curl_multi_perform(post->multi, &running);
        must(code == CURLM_OK);
        message = curl_multi_info_read(post->multi, &left);
        if (message != NULL)
            break;
        code = curl_multi_poll(post->multi, NULL, 0, POLL_MS, NULL);
        must(code == CURLM_OK);
    }
    if (message == NULL)
        snprintf(post->why, sizeof(post->why), "no answer in time");
    return message != NULL && message->data.result == CURLE_OK;
}

int post_send(struct post *post, struct str body, char error[256])
{
    CURLcode got = CURLE_OK;
    long status = 0;
    CURLMcode code;

    post->why[0] = '\0';
    SET(post->easy, CURLOPT_POSTFIELDSIZE, (long)body.n);
    SET(post->easy, CURLOPT_POSTFIELDS, body.p);
    code = curl_multi_add_handle(post->multi, post->easy);
    must(code == CURLM_OK);
    if (perform(post))
        got = curl_easy_getinfo(post->easy, CURLINFO_RESPONSE_CODE, &status);
    else
        snprintf(error, 256, "%.255s", post->why);
    must(got == CURLE_OK);
    code = curl_multi_remove_handle(post->multi, post->easy);
    must(code == CURLM_OK);
    return (int)status;
}

void post_hurry(struct post *post, int64_t until_us)
{
    atomic_store(&post->until_us, until_us);
    (void)curl_multi_wakeup(post->multi);
}

/* -- writing ----------------------------------------------------------------------------------- */

enum { KIND_SERVER = 2, STATUS_ERROR = 2 };

static void begin_object(struct buf *out)
{
    if (out->n > 0 && out->p[out->n - 1] == '}')
        buf_char(out, ',');
    buf_char(out, '{');
}

/* In OTLP's JSON, 64-bit numbers are strings. */
static void add_attribute(struct buf *out, const char *key, const char *type, struct str value)
{
    begin_object(out);
    json_add_text(out, "key", str_of(key));
    json_add_key(out, "value");
    buf_char(out, '{');
    json_add_text(out, type, value);
    buf_add(out, STR("}}"));
}

static void add_id(struct buf *out, const char *key, const struct uuid *id)
{
    char text[UUID_TEXT + 1];

    if (uuid_is_nil(id))
        return;
    uuid_format(id, text);
    add_attribute(out, key, "stringValue", str_of(text));
}

static void add_attributes(const struct span *span, struct buf *out)
{
    char status[12];

    json_add_key(out, "attributes");
    buf_char(out, '[');
    if (span->outcome != NULL)
        add_attribute(out, "conversations.outcome", "stringValue", str_of(span->outcome));
    if (span->http_status > 0) {
        snprintf(status, sizeof(status), "%d", span->http_status);
        add_attribute(out, "http.response.status_code", "intValue", str_of(status));
    }
    add_id(out, "conversations.request_id", &span->request_id);
    add_id(out, "conversations.organization_id", &span->organization_id);
    buf_char(out, ']');
}

static void add_hex(struct buf *out, const char *key, const uint8_t *id, size_t n)
{
    char text[2 * TRACE_ID_BYTES + 1];

    hex_write(id, n, text);
    json_add_text(out, key, str_of(text));
}

static void add_time(struct buf *out, const char *key, int64_t us)
{
    json_add_key(out, key);
    buf_printf(out, "\"%" PRId64 "000\"", us);
}

static bool has_parent(const struct span *span)
{
    for (size_t i = 0; i < SPAN_ID_BYTES; i++)
        if (span->parent_id[i] != 0)
            return true;
    return false;
}

static void add_span(const struct span *span, struct buf *out)
{
    begin_object(out);
    add_hex(out, "traceId", span->context.trace_id, TRACE_ID_BYTES);
    add_hex(out, "spanId", span->context.span_id, SPAN_ID_BYTES);
    if (has_parent(span))
        add_hex(out, "parentSpanId", span->parent_id, SPAN_ID_BYTES);
    json_add_text(out, "name", str_of(span->name));
    json_add_integer(out, "kind", KIND_SERVER);
    add_time(out, "startTimeUnixNano", span->start_us);
    add_time(out, "endTimeUnixNano", span->end_us);
    add_attributes(span, out);
    json_add_key(out, "status");
    buf_char(out, '{');
    if (span->has_failed)
        json_add_integer(out, "code", STATUS_ERROR);
    buf_add(out, STR("}}"));
}

void otlp_write(const struct span *spans, size_t n, const struct trace_origin *origin,
                struct buf *out)
{
    buf_add(out, STR("{\"resourceSpans\":[{\"resource\":{\"attributes\":["));
    add_attribute(out, "service.namespace", "stringValue", STR("conversations"));
    add_attribute(out, "service.name", "stringValue", str_of(origin->service));
    add_attribute(out, "service.instance.id", "stringValue", str_of(origin->instance));
    if (origin->cell != NULL)
        add_attribute(out, "conversations.cell", "stringValue", str_of(origin->cell));
    buf_add(out, STR("]},\"scopeSpans\":[{\"scope\":{\"name\":\"conversations\"},\"spans\":["));
    for (size_t i = 0; i < n; i++)
        add_span(&spans[i], out);
    buf_add(out, STR("]}]}]}"));
}

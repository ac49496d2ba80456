#include "common/trace/post.h"

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"

enum { TIMEOUT_US = 5 * 1000 * 1000, POLL_MS = 100, URL_MAX = 1024, HEADER_MAX = 4096 };

/* A setting that libcurl does not take is a mistake of ours. */
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

/* One "name=value", whose value is encoded as in URLs. */
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

/* The collector's words are of no use here. */
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
    SET(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(easy, CURLOPT_USERAGENT, "conversations/1");
    SET(easy, CURLOPT_WRITEFUNCTION, on_body);
    SET(easy, CURLOPT_ERRORBUFFER, post->why);
    if (ca_file[0] != '\0')
        SET(easy, CURLOPT_CAINFO, ca_file);
}

struct post *post_open(const struct trace_settings *settings, char error[256])
{
    struct post *post = calloc(1, sizeof(*post));
    const char *wrong = NULL;

    must(post != NULL && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
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
    curl_easy_cleanup(post->easy);
    must(curl_multi_cleanup(post->multi) == CURLM_OK);
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

    while (!is_over(post, until_us)) {
        must(curl_multi_perform(post->multi, &running) == CURLM_OK);
        message = curl_multi_info_read(post->multi, &left);
        if (message != NULL)
            break;
        must(curl_multi_poll(post->multi, NULL, 0, POLL_MS, NULL) == CURLM_OK);
    }
    if (message == NULL)
        snprintf(post->why, sizeof(post->why), "no answer in time");
    return message != NULL && message->data.result == CURLE_OK;
}

int post_send(struct post *post, struct str body, char error[256])
{
    long status = 0;

    post->why[0] = '\0';
    SET(post->easy, CURLOPT_POSTFIELDSIZE, (long)body.n);
    SET(post->easy, CURLOPT_POSTFIELDS, body.p);
    must(curl_multi_add_handle(post->multi, post->easy) == CURLM_OK);
    if (perform(post))
        must(curl_easy_getinfo(post->easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK);
    else
        snprintf(error, 256, "%.255s", post->why);
    must(curl_multi_remove_handle(post->multi, post->easy) == CURLM_OK);
    return (int)status;
}

void post_hurry(struct post *post, int64_t until_us)
{
    atomic_store(&post->until_us, until_us);
    (void)curl_multi_wakeup(post->multi);
}

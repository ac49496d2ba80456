#include "tests/support/http_client.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/clock.h"
#include "tests/support/journal.h"
#include "tests/support/never_free.h"
#include "tests/support/no_answer.h"
#include "tests/support/stack.h"

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* How much is allocated for n bytes and a terminating NUL. */
static size_t allocated(size_t n)
{
    size_t size = 1024;

    while (size <= n)
        size *= 2;
    return size;
}

/*
 * Sizes double: realloc() of each piece of a large body takes a client under AddressSanitizer longer
 * than the service waits for a reader.
 */
static void append(char **to, size_t *to_n, const char *bytes, size_t n)
{
    if (*to == NULL || allocated(*to_n) < allocated(*to_n + n))
        *to = realloc(*to, allocated(*to_n + n));
    cr_assert_not_null(*to);
    memcpy(*to + *to_n, bytes, n);
    *to_n += n;
    (*to)[*to_n] = '\0';
}

static size_t on_body(char *bytes, size_t size, size_t n, void *closure)
{
    struct client_response *response = closure;

    append(&response->body, &response->body_n, bytes, size * n);
    return size * n;
}

static size_t on_header(char *bytes, size_t size, size_t n, void *closure)
{
    struct client_response *response = closure;

    /* An interim response (100) is followed by the final one. */
    if (size * n >= 5 && memcmp(bytes, "HTTP/", 5) == 0)
        response->head_n = 0;
    append(&response->head, &response->head_n, bytes, size * n);
    return size * n;
}

static struct client_response *response_new(const struct client_request *request)
{
    struct client_response *response = never_free(calloc(1, sizeof(*response)));

    cr_assert_not_null(response);
    append(&response->head, &response->head_n, "", 0);
    append(&response->body, &response->body_n, "", 0);
    snprintf(response->about, sizeof(response->about), "%s %s", request->method, request->path);
    return response;
}

/* Finds the n-th header of that name; returns its value's start and length. */
static const char *find(const struct client_response *response, const char *name, int nth,
                        size_t *n)
{
    size_t name_n = strlen(name);
    const char *line = response->head;

    while (line != NULL && *line != '\0') {
        const char *end = strpbrk(line, "\r\n");

        if (end == NULL)
            end = line + strlen(line);
        if ((size_t)(end - line) > name_n && strncasecmp(line, name, name_n) == 0 &&
            line[name_n] == ':' && nth-- == 0) {
            const char *value = line + name_n + 1;

            while (value < end && isblank((unsigned char)*value))
                value++;
            *n = (size_t)(end - value);
            return value;
        }
        line = end + strspn(end, "\r\n");
    }
    return NULL;
}

const char *http_header(const struct client_response *response, const char *name)
{
    size_t n;
    const char *value = find(response, name, 0, &n);

    return value != NULL ? never_free(strndup(value, n)) : NULL;
}

int http_header_count(const struct client_response *response, const char *name)
{
    int count = 0;
    size_t n;

    while (find(response, name, count, &n) != NULL)
        count++;
    return count;
}

long http_header_integer(const struct client_response *response, const char *name)
{
    const char *text = http_header(response, name);

    if (text == NULL || text[0] == '\0' || strspn(text, "0123456789") != strlen(text))
        return -1;
    return strtol(text, NULL, 10);
}

static bool wants(const struct client_request *request, const char *name)
{
    for (const char *const *h = request->headers; h != NULL && *h != NULL; h++) {
        if (strncasecmp(*h, name, strlen(name)) == 0)
            return false;
    }
    return true;
}

static struct curl_slist *headers_of(const struct client_request *request)
{
    /* Removes curl's own additions, so that a request has only what the test gives. */
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    char line[512];

    if (request->key != NULL) {
        snprintf(line, sizeof(line), "Authorization: Bearer %s", request->key);
        list = curl_slist_append(list, line);
    }
    if (wants(request, "Content-Type"))
        list = curl_slist_append(list, request->body != NULL ? "Content-Type: application/json"
                                                             : "Content-Type:");
    for (const char *const *h = request->headers; h != NULL && *h != NULL; h++)
        list = curl_slist_append(list, *h);
    return list;
}

/* The promises of the contract for every response. */
static void check_invariants(struct client_response *response)
{
    const char *id = http_header(response, "X-Service-Request-Id");
    const char *type = http_header(response, "Content-Type");
    const char *cache = http_header(response, "Cache-Control");

    cr_assert_not_null(id, "%s: %d without X-Service-Request-Id", response->about,
                       response->status);
    cr_assert_eq(http_header_count(response, "X-Service-Request-Id"), 1);
    cr_assert_eq(strlen(id), 36, "%s: request id %s", response->about, id);
    cr_assert_eq(strspn(id, "0123456789abcdef-"), 36, "%s: request id %s", response->about, id);
    cr_assert_eq(id[14], '7', "%s: request id %s is not of version 7", response->about, id);
    memcpy(response->request_id, id, 37);
    cr_assert(cache != NULL && strcmp(cache, "no-store") == 0, "%s: %d without Cache-Control",
              response->about, response->status);
    cr_assert(type != NULL && strncmp(type, "application/json", 16) == 0, "%s: %d with type %s",
              response->about, response->status, type != NULL ? type : "(none)");
}

static void set_options(CURL *curl, const struct client_request *request, const char *url,
                        struct curl_slist *headers, struct client_response *response)
{
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, response);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, response);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                     (long)(request->timeout_ms != 0 ? request->timeout_ms : 30000));
    if (request->from != NULL)
        curl_easy_setopt(curl, CURLOPT_INTERFACE, request->from);
    if (strncmp(url, "https:", 6) == 0)
        curl_easy_setopt(curl, CURLOPT_CAINFO, stack_setting("GATEWAY_TLS_CERT"));
    if (strcmp(request->method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    if (request->body != NULL) {
        size_t n = request->body_n != 0 ? request->body_n : strlen(request->body);

        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)n);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
    }
}

static void note(const struct client_request *request, const char *url,
                 const struct client_response *response)
{
    const size_t sent_n = request->body == NULL  ? 0
                          : request->body_n != 0 ? request->body_n
                                                 : strlen(request->body);

    journal_write(&(struct journal_entry){.method = request->method,
                                          .target = strchr(strstr(url, "://") + 3, '/'),
                                          .sent = request->body,
                                          .sent_n = sent_n,
                                          .head = response->head,
                                          .head_n = response->head_n,
                                          .body = response->body,
                                          .body_n = response->body_n});
}

struct client_response *http_send(const struct client_request *request)
{
    const char *base = request->base != NULL ? request->base : stack_setting("BASE_URL");
    struct client_response *response = response_new(request);
    struct curl_slist *headers = headers_of(request);
    int64_t began_us = clock_mono_us();
    char error[CURL_ERROR_SIZE] = "";
    char url[4096];
    long status = 0;
    CURLcode code;
    CURL *curl;

    pthread_once(&curl_once, start_curl);
    curl = curl_easy_init();
    cr_assert_not_null(curl);
    cr_assert_lt(snprintf(url, sizeof(url), "%s%s", base, request->path), (int)sizeof(url));
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
    set_options(curl, request, url, headers, response);
    code = curl_easy_perform(curl);
    response->took_us = clock_mono_us() - began_us;
    if (code == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    response->status = (int)status;
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    if (response->status == 0) {
        if (!request->may_fail)
            cr_assert_fail("%s: %s%s", response->about, error, no_answer_from(base));
        return response;
    }
    response->json = json_loadb(response->body, response->body_n, JSON_REJECT_DUPLICATES, NULL);
    if (!request->skip_checks) {
        check_invariants(response);
        note(request, url, response);
    }
    return response;
}

#include "tests/support/collector.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/api_client.h"
#include "tests/support/never_free.h"
#include "tests/support/port.h"

enum { REQUEST_MAX = 4 * 1024 * 1024, TIMEOUT_MS = 30000 };

struct collector {
    int fd, status;
    uint16_t port;
    pthread_mutex_t lock;
    json_t *spans;
    char head[4096];
};

/* One connection. */
struct line {
    struct collector *collector;
    int fd;
    size_t n;
    char *request;
};

/* -- what has come --------------------------------------------------------------------------- */

static void note_spans(json_t *into, const json_t *resource_spans)
{
    const json_t *scopes = json_object_get(resource_spans, "scopeSpans");
    const char *service =
        span_attribute(json_object_get(resource_spans, "resource"), "service.name");

    for (size_t s = 0; s < json_array_size(scopes); s++) {
        json_t *spans = json_object_get(json_array_get(scopes, s), "spans");

        for (size_t i = 0; i < json_array_size(spans); i++) {
            json_object_set_new(json_array_get(spans, i), "service", json_string(service));
            json_array_append(into, json_array_get(spans, i));
        }
    }
}

static void note(struct collector *collector, const char *head, size_t head_n, const char *body,
                 size_t body_n)
{
    json_t *request = json_loadb(body, body_n, JSON_REJECT_DUPLICATES, NULL);
    const json_t *all = json_object_get(request, "resourceSpans");

    pthread_mutex_lock(&collector->lock);
    snprintf(collector->head, sizeof(collector->head), "%.*s", (int)head_n, head);
    for (size_t i = 0; i < json_array_size(all); i++)
        note_spans(collector->spans, json_array_get(all, i));
    pthread_mutex_unlock(&collector->lock);
    json_decref(request);
}

/* -- connections ----------------------------------------------------------------------------- */

/* The length of the first request; 0 = incomplete. */
static size_t whole(const struct line *line, size_t *head_n)
{
    const char *end = memmem(line->request, line->n, "\r\n\r\n", 4);
    const char *length = strcasestr(line->request, "\r\nContent-Length:");
    size_t n;

    if (end == NULL)
        return 0;
    *head_n = (size_t)(end + 4 - line->request);
    n = *head_n + (length != NULL && length < end ? strtoul(length + 17, NULL, 10) : 0);
    return n <= line->n ? n : 0;
}

static void response(const struct line *line)
{
    char text[128];

    snprintf(text, sizeof(text), "HTTP/1.1 %d Whatever\r\nContent-Length: 2\r\n\r\n{}",
             line->collector->status);
    (void)!send(line->fd, text, strlen(text), MSG_NOSIGNAL);
}

static void *converse(void *closure)
{
    struct line *line = closure;
    size_t head_n = 0, n;
    ssize_t got;

    while ((got = recv(line->fd, line->request + line->n, REQUEST_MAX - line->n, 0)) > 0) {
        line->n += (size_t)got;
        line->request[line->n] = '\0';
        while (line->collector->status != 0 && (n = whole(line, &head_n)) > 0) {
            note(line->collector, line->request, head_n, line->request + head_n, n - head_n);
            memmove(line->request, line->request + n, line->n - n + 1);
            line->n -= n;
            response(line);
        }
    }
    close(line->fd);
    free(line->request);
    free(line);
    return NULL;
}

static void *accept_all(void *closure)
{
    struct collector *collector = closure;

    for (;;) {
        struct line *line = calloc(1, sizeof(*line));
        pthread_t thread;

        line->collector = collector;
        line->request = malloc(REQUEST_MAX + 1);
        line->fd = accept(collector->fd, NULL, NULL);
        if (line->fd < 0 || pthread_create(&thread, NULL, converse, line) != 0)
            abort();
        pthread_detach(thread);
    }
    return NULL;
}

struct collector *collector_start(int status)
{
    struct collector *collector = never_free(calloc(1, sizeof(*collector)));
    pthread_t thread;

    collector->status = status;
    collector->spans = never_free(json_array());
    pthread_mutex_init(&collector->lock, NULL);
    collector->fd = port_bound(&collector->port);
    cr_assert_eq(listen(collector->fd, 64), 0);
    cr_assert_eq(pthread_create(&thread, NULL, accept_all, collector), 0);
    pthread_detach(thread);
    return collector;
}

const char *collector_url(const struct collector *collector)
{
    return format("http://127.0.0.1:%d", collector->port);
}

/* -- looking --------------------------------------------------------------------------------- */

json_t *collector_spans(struct collector *collector, const char *trace_id)
{
    json_t *found = never_free(json_array());

    pthread_mutex_lock(&collector->lock);
    for (size_t i = 0; i < json_array_size(collector->spans); i++) {
        json_t *span = json_array_get(collector->spans, i);

        if (trace_id[0] == '\0' ||
            strcmp(json_string_value(json_object_get(span, "traceId")), trace_id) == 0)
            json_array_append(found, span);
    }
    pthread_mutex_unlock(&collector->lock);
    return found;
}

struct awaited {
    struct collector *collector;
    const char *trace_id;
    size_t n;
};

static bool has_arrived(void *closure)
{
    const struct awaited *awaited = closure;

    return json_array_size(collector_spans(awaited->collector, awaited->trace_id)) >= awaited->n;
}

json_t *collector_await(struct collector *collector, const char *trace_id, size_t n)
{
    struct awaited awaited = {collector, trace_id, n};

    cr_assert(stack_wait(has_arrived, &awaited, TIMEOUT_MS), "no %zu spans of %s", n, trace_id);
    return collector_spans(collector, trace_id);
}

const json_t *span_of(const json_t *spans, const char *service)
{
    for (size_t i = 0; i < json_array_size(spans); i++) {
        const json_t *span = json_array_get(spans, i);

        if (strcmp(json_string_value(json_object_get(span, "service")), service) == 0)
            return span;
    }
    return NULL;
}

const char *span_attribute(const json_t *span, const char *key)
{
    const json_t *all = json_object_get(span, "attributes");

    for (size_t i = 0; i < json_array_size(all); i++) {
        json_t *one = json_array_get(all, i), *value = json_object_get(one, "value");

        if (strcmp(json_string_value(json_object_get(one, "key")), key) == 0)
            return json_string_value(json_object_iter_value(json_object_iter(value)));
    }
    return NULL;
}

const char *collector_head(struct collector *collector)
{
    char *head;

    pthread_mutex_lock(&collector->lock);
    head = format("%s", collector->head);
    pthread_mutex_unlock(&collector->lock);
    return head;
}

#include "common/trace/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/crypto/crypto.h"
#include "common/trace/exporter.h"

/* -- the header traceparent -------------------------------------------------------------------- */

/* Limits the header that is passed on over the bus. */
enum { TRACEPARENT_MAX = 128 };
/* Offsets of its parts. */
enum { TRACE_ID_AT = 3, SPAN_ID_AT = 36, FLAGS_AT = 53 };

static bool read_hex(struct str s, size_t at, uint8_t *out, size_t n)
{
    return hex_read((struct str){s.p + at, 2 * n}, out, n);
}

static bool is_zero(const uint8_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (id[i] != 0)
            return false;
    return true;
}

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 0x7f)
            return false;
    return true;
}

/* Version 00 ends after the flags; a later one may continue after a hyphen. */
static bool ends_well(struct str s, uint8_t version)
{
    return s.n == TRACEPARENT_TEXT || (version > 0 && s.p[TRACEPARENT_TEXT] == '-');
}

bool trace_context_parse(struct str s, struct trace_context *out)
{
    struct trace_context context;
    uint8_t version, flags;

    if (s.n < TRACEPARENT_TEXT || s.n > TRACEPARENT_MAX || !is_plain(s) || s.p[2] != '-' ||
        s.p[SPAN_ID_AT - 1] != '-' || s.p[FLAGS_AT - 1] != '-')
        return false;
    if (!read_hex(s, 0, &version, 1) || !read_hex(s, FLAGS_AT, &flags, 1) ||
        !read_hex(s, TRACE_ID_AT, context.trace_id, TRACE_ID_BYTES) ||
        !read_hex(s, SPAN_ID_AT, context.span_id, SPAN_ID_BYTES))
        return false;
    if (version == 0xff || is_zero(context.trace_id, TRACE_ID_BYTES) ||
        is_zero(context.span_id, SPAN_ID_BYTES) || !ends_well(s, version))
        return false;
    context.is_sampled = flags & 1;
    *out = context;
    return true;
}

void trace_context_format(const struct trace_context *context, char text[TRACEPARENT_TEXT + 1])
{
    hex_write((const uint8_t[]){0}, 1, text);
    hex_write(context->trace_id, TRACE_ID_BYTES, text + TRACE_ID_AT);
    hex_write(context->span_id, SPAN_ID_BYTES, text + SPAN_ID_AT);
    hex_write((const uint8_t[]){context->is_sampled}, 1, text + FLAGS_AT);
    text[TRACE_ID_AT - 1] = text[SPAN_ID_AT - 1] = text[FLAGS_AT - 1] = '-';
}

struct str trace_id_of(struct str traceparent)
{
    struct trace_context context;

    if (!trace_context_parse(traceparent, &context))
        return STR_NONE;
    return (struct str){traceparent.p + TRACE_ID_AT, (size_t)2 * TRACE_ID_BYTES};
}

struct log_field log_trace(struct str traceparent)
{
    struct str id = trace_id_of(traceparent);

    return log_slice(id.p != NULL ? "trace_id" : NULL, id);
}

/* -- the thread -------------------------------------------------------------------------------- */

enum {
    GATHER_MS = 1000,        /* how long spans are collected before they are sent */
    SEND_AT = SPANS_MAX / 2, /* or until there are this many */
    LAST_US = 1000 * 1000,   /* how long the last ones may take */
    BODY_MAX = 32 * 1024 * 1024,
};

static struct {
    bool is_on; /* constant while there are threads */
    struct trace_origin origin;
    double ratio;
    struct post *post;
    struct metric *sent, *dropped, *failed;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct span *filling, *sending; /* SPANS_MAX spans each; the latter is the thread's */
    size_t n;                       /* in `filling` */
    bool is_closing;
} state;

static struct timespec after_ms(int64_t ms)
{
    int64_t us = clock_mono_us() + ms * 1000;

    return (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
}

/* Waits until there are spans, and a while for more; moves them to `sending`. 0: the thread must
   end. */
static size_t take(void)
{
    struct span *taken;
    struct timespec until;
    size_t n;
    int ended = 0;

    pthread_mutex_lock(&state.lock);
    while (state.n == 0 && !state.is_closing)
        pthread_cond_wait(&state.changed, &state.lock);
    until = after_ms(GATHER_MS);
    while (state.n < SEND_AT && !state.is_closing && ended == 0)
        ended = pthread_cond_timedwait(&state.changed, &state.lock, &until);
    taken = state.filling;
    state.filling = state.sending;
    state.sending = taken;
    n = state.n;
    state.n = 0;
    pthread_mutex_unlock(&state.lock);
    return n;
}

/* Logs once when export begins to fail, and once when it works again. */
static void note(bool is_taken, int status, const char *error)
{
    static bool was_taken = true;

    if (!is_taken && was_taken)
        LOG(LOG_WARNING, "trace export failed; spans dropped", log_int("status", status),
            log_str("error", error));
    else if (is_taken && !was_taken)
        LOG(LOG_INFO, "trace export works again");
    was_taken = is_taken;
}

static void send_spans(size_t n, struct arena *arena)
{
    char error[256] = "";
    struct buf body;
    int status;
    bool is_taken;

    buf_init(&body, arena, n * 1024);
    otlp_write(state.sending, n, &state.origin, &body);
    status = post_send(state.post, buf_str(&body), error);
    is_taken = status >= 200 && status <= 299;
    metric_add(is_taken ? state.sent : state.failed, (int64_t)n);
    note(is_taken, status, error);
    arena_clear(arena);
}

static void *run(void *unused)
{
    struct arena arena;
    size_t n;

    arena_init(&arena, BODY_MAX);
    while ((n = take()) > 0)
        send_spans(n, &arena);
    arena_release(&arena);
    return NULL;
}

/* -- opening and closing --------------------------------------------------------------------- */

static bool read_ratio(const char *text, double *out)
{
    char *end = NULL;

    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= 0.0 && *out <= 1.0;
}

static void register_metrics(void)
{
    static const char name[] = "conversations_spans_total", help[] = "Spans, by result";

    state.sent = metric_counter(name, "result=\"sent\"", help);
    state.dropped = metric_counter(name, "result=\"dropped\"", help);
    state.failed = metric_counter(name, "result=\"failed\"", help);
}

static void open_queue(void)
{
    pthread_condattr_t attributes;

    must(pthread_condattr_init(&attributes) == 0 &&
         pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
         pthread_cond_init(&state.changed, &attributes) == 0 &&
         pthread_condattr_destroy(&attributes) == 0 && pthread_mutex_init(&state.lock, NULL) == 0);
    state.filling = calloc(SPANS_MAX, sizeof(*state.filling));
    state.sending = calloc(SPANS_MAX, sizeof(*state.sending));
    must(state.filling != NULL && state.sending != NULL);
    state.n = 0;
    state.is_closing = false;
}

enum status trace_open(const struct trace_settings *settings, const struct trace_origin *origin)
{
    char error[256] = "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1";

    if (settings->endpoint[0] == '\0')
        return ST_OK;
    if (read_ratio(settings->ratio, &state.ratio))
        state.post = post_open(settings, error);
    if (state.post == NULL) {
        LOG(LOG_ERROR, error);
        return ST_REFUSED;
    }
    state.origin = *origin;
    register_metrics();
    open_queue();
    must(pthread_create(&state.thread, NULL, run, NULL) == 0);
    state.is_on = true;
    return ST_OK;
}

void trace_close(void)
{
    if (!state.is_on)
        return;
    pthread_mutex_lock(&state.lock);
    state.is_closing = true;
    pthread_cond_signal(&state.changed);
    pthread_mutex_unlock(&state.lock);
    post_hurry(state.post, clock_mono_us() + LAST_US);
    must(pthread_join(state.thread, NULL) == 0);
    state.is_on = false;
    post_close(state.post);
    state.post = NULL;
    free(state.filling);
    free(state.sending);
    pthread_cond_destroy(&state.changed);
    pthread_mutex_destroy(&state.lock);
}

bool trace_is_on(void)
{
    return state.is_on;
}

/* -- spans ----------------------------------------------------------------------------------- */

/* Decides by the trace id, so that every process would decide alike. */
static bool is_chosen(const uint8_t trace_id[TRACE_ID_BYTES])
{
    uint32_t number;

    memcpy(&number, trace_id + TRACE_ID_BYTES - sizeof(number), sizeof(number));
    return (double)number < state.ratio * 4294967296.0;
}

bool span_begin(struct span *span, struct str traceparent, bool may_begin_trace)
{
    struct trace_context *context = &span->context, caller;

    *span = (struct span){0};
    if (!state.is_on)
        return false;
    if (trace_context_parse(traceparent, &caller)) {
        *context = caller;
        memcpy(span->parent_id, caller.span_id, SPAN_ID_BYTES);
    } else if (may_begin_trace) {
        crypto_random(context->trace_id, TRACE_ID_BYTES);
        context->is_sampled = is_chosen(context->trace_id);
    }
    if (context->is_sampled)
        crypto_random(context->span_id, SPAN_ID_BYTES);
    return context->is_sampled;
}

void span_end(const struct span *span)
{
    bool is_kept;

    if (!span->context.is_sampled)
        return;
    pthread_mutex_lock(&state.lock);
    is_kept = state.n < SPANS_MAX;
    if (is_kept)
        state.filling[state.n++] = *span;
    if (state.n == 1 || state.n == SEND_AT)
        pthread_cond_signal(&state.changed);
    pthread_mutex_unlock(&state.lock);
    if (!is_kept)
        metric_add(state.dropped, 1);
}

/*
 * trace - spans: this process's spans of a trace, for a collector.
 *
 *     span_begin(&span, traceparent, true);           a part of the caller's trace, or a new one
 *     ... span.context goes on to whom we ask ...
 *     span_end(&span);                                 after name, times and outcome are filled
 *
 * What     A span is recorded when the traceparent says that its trace is, or, where a trace may
 *          begin, for the share of requests that OTEL_TRACES_SAMPLER_ARG names. Ended spans are
 *          kept, SPANS_MAX at a time, until a separate thread has sent them to the collector
 *          (OTLP/HTTP, JSON), once a second or when half of them are used. What it does not
 *          take within seconds is lost and counted: spans are best effort; requests do not wait
 *          for them.
 *          Without an endpoint nothing of this exists: span_begin() is one look at a bool.
 * Owns     trace_open() what trace_close() gives back, after it has sent what is left for at most a
 *          second. Names and outcomes in spans are literals.
 * Threads  Open and close on the main thread, while there are no others; spans on any.
 * Secrets  A span holds no text from outside, and no id but those of request and organization.
 */
#ifndef COMMON_TRACE_TRACE_H
#define COMMON_TRACE_TRACE_H

#include "common/base/log.h"
#include "common/base/status.h"
#include "common/base/uuid.h"
#include "common/trace/context.h"
#include "common/trace/settings.h"

struct span {
    struct trace_context context;     /* ours; not sampled: this span is not recorded */
    uint8_t parent_id[SPAN_ID_BYTES]; /* all zero: the trace begins here */
    const char *name;
    int64_t start_us, end_us; /* clock_us() */
    const char *outcome;
    int http_status;                         /* 0 = not over HTTP */
    bool has_failed;                         /* by our fault */
    struct uuid request_id, organization_id; /* nil = not known */
};

enum { SPANS_MAX = 1024 };

/* `service` and `instance` ("gateway", "gateway-0") are kept. ST_REFUSED (logged): a setting is
   unusable. */
MUST_CHECK enum status trace_open(const struct trace_settings *settings, const char *service,
                                  const char *instance);
void trace_close(void);
bool trace_is_on(void);

/* Empties the span and, when it is to be recorded, gives it its place in a trace; says whether it
   is. `traceparent` is as it came, well-formed or not. */
bool span_begin(struct span *span, struct str traceparent, bool may_begin_trace);
/* The trace's id, for every line about a request; omitted if its traceparent is invalid. */
struct log_field log_trace(struct str traceparent);
/* Hands a copy over to be sent, if it is to be recorded. Never blocks. */
void span_end(const struct span *span);

#endif

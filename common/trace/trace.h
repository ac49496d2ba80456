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
 * Owns     trace_close() gives back what trace_open() took, after sending the remaining spans for
 *          a second at most. Names and outcomes in spans are literals.
 * Threads  Open and close on the main thread, while there are no others; spans on any.
 * Secrets  A span holds no text from outside, and no id but those of request and organization.
 */
#ifndef COMMON_TRACE_TRACE_H
#define COMMON_TRACE_TRACE_H

#include <stdbool.h>

#include "common/base/config.h"
#include "common/base/log.h"
#include "common/base/status.h"
#include "common/base/str.h"
#include "common/base/uuid.h"

/* -- the header traceparent -------------------------------------------------------------------- */

/* W3C Trace Context: `00-` 32 hex `-` 16 hex `-` 2 hex, ids not all zero; or a later version that
   begins like that. `tracestate` is what other vendors tell themselves: it is neither read nor
   passed on. */

enum { TRACE_ID_BYTES = 16, SPAN_ID_BYTES = 8, TRACEPARENT_TEXT = 55 };

struct trace_context {
    uint8_t trace_id[TRACE_ID_BYTES];
    uint8_t span_id[SPAN_ID_BYTES];
    bool is_sampled; /* the services behind it record their spans */
};

/* False leaves *out untouched. */
bool trace_context_parse(struct str traceparent, struct trace_context *out);
void trace_context_format(const struct trace_context *context, char text[TRACEPARENT_TEXT + 1]);

/* The trace id as in a traceparent, for the log; STR_NONE unless that is well-formed. */
struct str trace_id_of(struct str traceparent);
/* The same as a field, for every line about a request; omitted if its traceparent is invalid. */
struct log_field log_trace(struct str traceparent);

/* -- spans ------------------------------------------------------------------------------------- */

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

/* Empties the span and, when it is to be recorded, gives it its place in a trace; says whether it
   is. `traceparent` is as it came, well-formed or not. */
bool span_begin(struct span *span, struct str traceparent, bool may_begin_trace);
/* Hands a copy over to be sent, if it is to be recorded. Never blocks. */
void span_end(const struct span *span);

/* -- settings ---------------------------------------------------------------------------------- */

/* Where spans go, by the names that OpenTelemetry gives: rows for a program's table.

       struct my_config { const char *nats_url; struct trace_settings trace; };
       static const struct setting settings[] = {..., TRACE_SETTINGS(struct my_config, trace)}; */

struct trace_settings {
    const char *endpoint, *headers, *ca_file, *ratio;
};

#define TRACE_SETTING(of, field, name_, fallback_, secret_, meaning_)                              \
    {                                                                                              \
        .name = (name_), .type = SETTING_STRING, .offset = offsetof(of, field),                    \
        .fallback = (fallback_), .secret = (secret_), .meaning = (meaning_)                        \
    }
#define TRACE_SETTINGS(of, member)                                                                 \
    TRACE_SETTING(of, member.endpoint, "OTEL_EXPORTER_OTLP_ENDPOINT", "", false,                   \
                  "Where spans are sent by OTLP/HTTP, such as http://collector:4318; empty = "     \
                  "not at all"),                                                                   \
        TRACE_SETTING(of, member.headers, "OTEL_EXPORTER_OTLP_HEADERS", "", true,                  \
                      "Headers sent with them: name=value, separated by commas, values encoded "   \
                      "as in URLs"),                                                               \
        TRACE_SETTING(of, member.ca_file, "OTEL_EXPORTER_OTLP_CERTIFICATE", "", false,             \
                      "CA certificates for the connection to the collector, in PEM; empty = the "  \
                      "machine's"),                                                                \
        TRACE_SETTING(of, member.ratio, "OTEL_TRACES_SAMPLER_ARG", "1", false,                     \
                      "Share, from 0 to 1, of the requests without a traceparent that begin a "    \
                      "trace")

/* -- opening and closing ----------------------------------------------------------------------- */

/* The process that makes the spans: "gateway", "gateway-0"; NULL: it is of no cell, or of `main`. */
struct trace_origin {
    const char *service, *instance, *cell;
};

/* What `origin` points to is kept. ST_REFUSED (logged): a setting is unusable. */
MUST_CHECK enum status trace_open(const struct trace_settings *settings,
                                  const struct trace_origin *origin);
void trace_close(void);
bool trace_is_on(void);

#endif

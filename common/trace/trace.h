/*
 * trace - spans: this process's spans of a trace, for a collector.
 *
 *     span_begin(&span, traceparent, true);           a part of the caller's trace, or a new one
 *     ... span.context is passed on in our own calls ...
 *     span_end(&span);                                 after name, times and outcome are set
 *
 * What     A span is recorded if the traceparent marks its trace as sampled or, if a trace may begin
 *          here, for the share of requests in OTEL_TRACES_SAMPLER_ARG. Up to SPANS_MAX ended spans
 *          are kept until a separate thread sends them to the collector (OTLP/HTTP, JSON, never by a
 *          proxy), once a second or when half of the space is used. Spans that the collector does
 *          not accept within seconds are lost and counted: spans are best effort, and requests do
 *          not wait for them.
 *          Without an endpoint tracing is off: span_begin() only checks a bool.
 * Owns     trace_close() frees what trace_open() allocated, after sending the remaining spans for a
 *          second at most. Names and outcomes in spans are literals.
 * Threads  Open and close on the main thread, while there are no others; spans on any.
 * Secrets  A span has no text from outside, and no ids but those of request and organization.
 */
#ifndef COMMON_TRACE_TRACE_H
#define COMMON_TRACE_TRACE_H

#include <stdbool.h>

#include "common/base/config.h"
#include "common/base/log.h"
#include "common/base/status.h"
#include "common/base/str.h"
#include "common/trace/span.h"

/* -- the header traceparent -------------------------------------------------------------------- */

/* W3C Trace Context: `00-` 32 hex `-` 16 hex `-` 2 hex, ids not all zero; or a later version that
   begins like that. `tracestate` carries other vendors' data: it is neither read nor passed on. */

/* False leaves *out untouched. */
bool trace_context_parse(struct str traceparent, struct trace_context *out);
void trace_context_format(const struct trace_context *context, char text[TRACEPARENT_TEXT + 1]);

/* The trace id in a traceparent, for the log; STR_NONE: it is malformed. */
struct str trace_id_of(struct str traceparent);
/* The same as a field, for every log line about a request; left out if the traceparent is
   malformed. */
struct log_field log_trace(struct str traceparent);

/* -- spans ------------------------------------------------------------------------------------- */

enum { SPANS_MAX = 1024 };

/* Initializes the span and, if it must be recorded, gives it its place in a trace; returns whether
   it must. `traceparent` is as it came, well-formed or not. */
bool span_begin(struct span *span, struct str traceparent, bool may_begin_trace);
/* Queues a copy to be sent, if the span must be recorded. Never waits for the collector. */
void span_end(const struct span *span);

/* -- settings ---------------------------------------------------------------------------------- */

/* Where spans are sent, with OpenTelemetry's names for the settings: rows for a program's table. */

#define TRACE_SETTING(of, field, name_, fallback_, secret_, meaning_)                              \
    {                                                                                              \
        .name = (name_), .type = SETTING_STRING, .offset = offsetof(of, field),                    \
        .fallback = (fallback_), .secret = (secret_), .meaning = (meaning_)                        \
    }
#define TRACE_SETTINGS(of, member)                                                                 \
    TRACE_SETTING(of, member.endpoint, "OTEL_EXPORTER_OTLP_ENDPOINT", "", false,                   \
                  "Where spans are sent by OTLP/HTTP, such as http://collector:4318; empty = no "  \
                  "spans are sent"),                                                               \
        TRACE_SETTING(of, member.headers, "OTEL_EXPORTER_OTLP_HEADERS", "", true,                  \
                      "Headers sent with them: name=value, separated by commas, values encoded "   \
                      "as in URLs"),                                                               \
        TRACE_SETTING(of, member.ca_file, "OTEL_EXPORTER_OTLP_CERTIFICATE", "", false,             \
                      "CA certificates for the connection to the collector, in PEM; empty = "      \
                      "those of the system"),                                                      \
        TRACE_SETTING(of, member.ratio, "OTEL_TRACES_SAMPLER_ARG", "1", false,                     \
                      "Share, from 0 to 1, of the requests without a traceparent that begin a "    \
                      "trace")

/* -- opening and closing ----------------------------------------------------------------------- */

/* What `origin` points to must stay valid. ST_REFUSED (logged): a setting is unusable. */
MUST_CHECK enum status trace_open(const struct trace_settings *settings,
                                  const struct trace_origin *origin);
void trace_close(void);
bool trace_is_on(void);

#endif

/*
 * span - what a span says, and where spans are sent: for trace.h, and for the exporter.
 *
 * Owns     Nothing; texts are literals or outlive all spans.
 * Threads  Any; data only.
 */
#ifndef COMMON_TRACE_SPAN_H
#define COMMON_TRACE_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/uuid.h"

enum { TRACE_ID_BYTES = 16, SPAN_ID_BYTES = 8, TRACEPARENT_TEXT = 55 };

struct trace_context {
    uint8_t trace_id[TRACE_ID_BYTES];
    uint8_t span_id[SPAN_ID_BYTES];
    bool is_sampled; /* the services that it is passed to record their spans */
};

struct span {
    struct trace_context context;     /* ours; if not sampled, this span is not recorded */
    uint8_t parent_id[SPAN_ID_BYTES]; /* all zero: the trace begins here */
    const char *name;
    int64_t start_us, end_us; /* clock_us() */
    const char *outcome;
    int http_status;                         /* 0 = not over HTTP */
    bool has_failed;                         /* by our fault */
    struct uuid request_id, organization_id; /* nil = not known */
};

/* The process that makes the spans: "gateway", "gateway-0"; cell NULL: it belongs to none, or to
   `main`. */
struct trace_origin {
    const char *service, *instance, *cell;
};

/* Settings; see TRACE_SETTINGS. */
struct trace_settings {
    const char *endpoint, *headers, *ca_file, *ratio;
};

#endif

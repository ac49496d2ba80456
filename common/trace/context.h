/*
 * context - the header `traceparent` of W3C Trace Context: which trace a request belongs to.
 *
 * What     `00-` 32 hex `-` 16 hex `-` 2 hex, ids not all zero; or a later version that begins like
 *          that. `tracestate` is what other vendors tell themselves: it is neither read nor passed
 *          on.
 * Threads  Any; pure.
 */
#ifndef COMMON_TRACE_CONTEXT_H
#define COMMON_TRACE_CONTEXT_H

#include <stdbool.h>

#include "common/base/str.h"

enum { TRACE_ID_BYTES = 16, SPAN_ID_BYTES = 8, TRACEPARENT_TEXT = 55 };

struct trace_context {
    uint8_t trace_id[TRACE_ID_BYTES];
    uint8_t span_id[SPAN_ID_BYTES];
    bool is_sampled; /* the services behind it record their spans */
};

/* False leaves *out untouched. */
bool trace_context_parse(struct str traceparent, struct trace_context *out);
void trace_context_format(const struct trace_context *context, char text[TRACEPARENT_TEXT + 1]);

/* The trace id as in a traceparent, for the log; STR_NONE unless that is well-formed.
 */
struct str trace_id_of(struct str traceparent);

#endif

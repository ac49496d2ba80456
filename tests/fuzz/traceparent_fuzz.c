/* A trace context that was read from a traceparent is written and read back the same, and the log
   gets the same digits. */
#include <stdint.h>
#include <string.h>

#include "common/base/log.h"
#include "common/trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n}, id = trace_id_of(text);
    struct trace_context context, again;
    char written[TRACEPARENT_TEXT + 1];

    if (!trace_context_parse(text, &context)) {
        must(id.p == NULL);
        return 0;
    }
    trace_context_format(&context, written);
    must(strlen(written) == TRACEPARENT_TEXT);
    must(trace_context_parse(str_of(written), &again));
    must(memcmp(context.trace_id, again.trace_id, TRACE_ID_BYTES) == 0);
    must(memcmp(context.span_id, again.span_id, SPAN_ID_BYTES) == 0);
    must(context.is_sampled == again.is_sampled);
    must(id.n == (size_t)2 * TRACE_ID_BYTES && memcmp(written + 3, id.p, id.n) == 0);
    return 0;
}

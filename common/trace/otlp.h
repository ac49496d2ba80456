/*
 * otlp - spans as the body of a request by OTLP/HTTP, in its JSON encoding.
 *
 * Threads  Any; pure.
 */
#ifndef COMMON_TRACE_OTLP_H
#define COMMON_TRACE_OTLP_H

#include "common/base/buf.h"
#include "common/trace/trace.h"

/* `service` and `instance`: whose spans they are. */
void otlp_write(const struct span *spans, size_t n, const char *service, const char *instance,
                struct buf *out);

#endif

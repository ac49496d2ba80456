/*
 * collector - a trace collector (OTLP/HTTP) inside the test's process.
 *
 * Owns     Everything, until the process ends.
 * Threads  Its own, one for all connections. Calls from the test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_COLLECTOR_H
#define TESTS_SUPPORT_COLLECTOR_H

#include <jansson.h>
#include <stddef.h>

struct collector;

/* Answers every request with that status; 0 = accepts connections and never answers. */
struct collector *collector_start(int status);
/* The value for OTEL_EXPORTER_OTLP_ENDPOINT. */
const char *collector_url(const struct collector *collector);

/* All spans of a trace ("" = of any), once there are `n`: each as received, with the name of its
   service as "service". */
json_t *collector_await(struct collector *collector, const char *trace_id, size_t n);
/* The same, without waiting. */
json_t *collector_spans(struct collector *collector, const char *trace_id);
/* One of them by its service; NULL = none. */
const json_t *span_of(const json_t *spans, const char *service);
/* An attribute of a span, of any type; NULL = there is none. */
const char *span_attribute(const json_t *span, const char *key);

/* The head of the latest request; "" = none yet. */
const char *collector_head(struct collector *collector);

#endif

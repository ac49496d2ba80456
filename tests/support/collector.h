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

/* Answers every request with that status; 0 = takes connections and answers nothing, ever. */
struct collector *collector_start(int status);
/* What OTEL_EXPORTER_OTLP_ENDPOINT is to be. */
const char *collector_url(const struct collector *collector);

/* All spans of a trace ("" = of any), once there are `n` of them: each as it came, with the name of
   its service as "service". */
json_t *collector_await(struct collector *collector, const char *trace_id, size_t n);
/* The same, those that are there now. */
json_t *collector_spans(struct collector *collector, const char *trace_id);
/* One of them by its service; NULL = none. */
const json_t *span_of(const json_t *spans, const char *service);
/* An attribute of a span, whatever its type; NULL = it has none of that name. */
const char *span_attribute(const json_t *span, const char *key);

/* The head of the latest request; "" = there was none. */
const char *collector_head(struct collector *collector);

#endif

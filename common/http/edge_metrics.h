/*
 * edge_metrics - the metrics that every program at the edge has.
 *
 * Owns     The one set of them; registered by edge_metrics_open().
 * Threads  edge_metrics_open() once, before threads start; updating from any.
 */
#ifndef COMMON_HTTP_EDGE_METRICS_H
#define COMMON_HTTP_EDGE_METRICS_H

#include "common/base/metrics.h"

struct edge_metrics {
    struct metric *in_flight, *connections, *connections_refused, *connections_shed, *loops_ready;
    struct metric *framing_faults, *late_replies, *heartbeats_missed, *slow_readers;
    struct metric *clock_apart, *clock_checks;
};

extern struct edge_metrics edge_metrics;

/* `prefix` begins their names, such as "conversations_gateway_". */
void edge_metrics_open(const char *prefix);

#endif

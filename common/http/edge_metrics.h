/*
 * edge_metrics - the metrics of every program at the edge.
 *
 * What     One set for each process, never freed. Gauges show the present value, counters count since
 *          the start; times are in seconds.
 * Threads  Any, after edge_metrics_open().
 */
#ifndef COMMON_HTTP_EDGE_METRICS_H
#define COMMON_HTTP_EDGE_METRICS_H

#include "common/base/clock_check.h"
#include "common/base/metrics.h"

struct edge_metrics {
    /* of requests and connections */
    struct metric *in_flight;           /* gauge: requests that have not ended */
    struct metric *connections;         /* gauge: clients' open connections */
    struct metric *connections_refused; /* closed at once: their address or network has too many */
    struct metric *connections_shed;    /* idle ones, closed to make room */
    struct metric *slow_readers;        /* connections: the client did not read the response */
    struct metric *framing_errors;      /* requests with invalid framing, or too large */
    /* of the bus */
    struct metric *loops_ready;       /* gauge: loops that listen and have a live bus */
    struct metric *heartbeats_missed; /* ticks of a loop's timer without the heartbeat */
    struct metric *late_replies; /* to calls that had ended (those that bus_awaited_fn lets in) */
    /* Gauges: seconds that our clock is ahead of theirs; negative: behind. */
    struct metric *clock_skew[CLOCK_SOURCES], *clock_jump;
    struct metric *clock_checks; /* replies that were to carry the time */
};

extern struct edge_metrics edge_metrics;

/* Call once, before threads start; then any thread may update them. `prefix` begins their names,
   such as "conversations_gateway_". */
void edge_metrics_open(const char *prefix);

#endif

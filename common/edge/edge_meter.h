/*
 * edge_meter - the metrics that every program at the edge has.
 *
 * Owns     The one set of them; registered by edge_meter_open().
 * Threads  edge_meter_open() once, before threads start; updating from any.
 */
#ifndef COMMON_EDGE_EDGE_METER_H
#define COMMON_EDGE_EDGE_METER_H

#include "common/base/metrics.h"

struct edge_meter {
    struct metric *in_flight, *connections, *loops_ready;
    struct metric *framing_faults, *late_replies, *pulses_missed, *slow_readers;
};

extern struct edge_meter edge_meter;

/* `prefix` begins their names, such as "conversations_gateway_". */
void edge_meter_open(const char *prefix);

#endif

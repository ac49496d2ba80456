/*
 * gateway_metrics - the gateway's metrics.
 *
 * Owns     The one set of them; registered by gateway_metrics_open().
 * Threads  gateway_metrics_open() once, before threads start; updating from any.
 */
#ifndef SERVICES_GATEWAY_GATEWAY_METRICS_H
#define SERVICES_GATEWAY_GATEWAY_METRICS_H

#include "common/base/metrics.h"
#include "proto/outcome.h"

struct gateway_metrics {
    struct metric *key_hits, *key_misses, *lookups, *lookups_failed, *lookups_withheld;
    struct metric *leases, *leases_failed;
    struct metric *auth_failures, *auth_throttled;
    struct metric *parked, *unrecorded;
    struct metric *usage_kept, *usage_uncertain;
};

extern struct gateway_metrics gateway_metrics;

void gateway_metrics_open(void);
/* A response has been sent. */
void gateway_metrics_count(enum operation operation, int status, int64_t took_us);

#endif

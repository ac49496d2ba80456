/*
 * gateway_metrics - the metrics of the gateway, counted since the start.
 *
 * Threads  gateway_metrics_open() once, before threads start; then any thread may update them.
 */
#ifndef SERVICES_GATEWAY_GATEWAY_METRICS_H
#define SERVICES_GATEWAY_GATEWAY_METRICS_H

#include "common/base/metrics.h"
#include "proto/outcome.h"

struct gateway_metrics {
    struct metric *key_hits, *key_misses;    /* requests whose key is cached, or is not */
    struct metric *lookups, *lookups_failed; /* failed: no reply */
    struct metric *lookups_limited;          /* by the lookup budget */
    struct metric *leases, *leases_failed;   /* failed: counted locally until the window ends */
    struct metric *auth_failures;            /* requests without a valid key */
    struct metric *auth_throttled;           /* refused: too many failures from their address */
    struct metric *parked;                   /* stages that waited for a silent bus */
    struct metric *postponed, *dropped;      /* requests beyond their key's answers */
    struct metric *unrecorded;               /* responses without a confirmed audit entry */
    struct metric *usage_failed, *usage_uncertain; /* to be sent again; possibly lost */
};

extern struct gateway_metrics gateway_metrics;

void gateway_metrics_open(void);
/* A response has been sent, `took_us` microseconds after its request began. */
void gateway_metrics_count(enum operation operation, int status, int64_t took_us);

#endif

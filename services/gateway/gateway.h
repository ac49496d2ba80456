/*
 * gateway - one event loop of the gateway and what it remembers; its calls to access; its metrics.
 *
 * What     An edge (common/http/edge.h) and the gateway's own state: the keys it has met, the
 *          clients that failed to authenticate, and the notices of access.
 * Owns     All of it, until the process ends.
 * Threads  The loop's; metrics belong to the process: gateway_metrics_open() once, before threads
 *          start, updating from any.
 */
#ifndef SERVICES_GATEWAY_GATEWAY_H
#define SERVICES_GATEWAY_GATEWAY_H

#include "common/http/edge.h"
#include "common/http/throttle.h"
#include "proto/outcome.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/key_lookup.h"

#define API_REQUESTS_MAX 8192

struct gateway {
    struct edge edge;                         /* first: the two are one */
    h2o_multithread_receiver_t invalidations; /* notices of access */
    struct key_cache *keys;
    struct throttle *throttle;
    struct familiar *familiar;
    struct lookup_budget lookup_budget;
    h2o_linklist_t parked;    /* API requests that wait for the bus to settle */
    int64_t withheld_told_us; /* monotonic: latest line in the log about withheld look-ups */
    struct key_usage usage;
    h2o_timeout_t usage_timeout;
    h2o_timeout_entry_t usage_timer;
};

/* A call to access for the gateway itself: `call`, less its timeout and its request id, which is a
   new one. */
MUST_CHECK enum status gateway_call(struct gateway *gateway, struct call_request *call);

/* -- metrics --------------------------------------------------------------------------------- */

/* Counted since the start. */
struct gateway_metrics {
    struct metric *key_hits, *key_misses;        /* requests with a key known here, or not */
    struct metric *lookups, *lookups_failed;     /* failed: without a reply */
    struct metric *lookups_withheld;             /* by the lookup budget */
    struct metric *leases, *leases_failed;       /* failed: the window is counted here */
    struct metric *auth_failures;                /* requests without a valid key */
    struct metric *auth_throttled;               /* refused since their address failed too often */
    struct metric *parked;                       /* stages that waited for a silent bus */
    struct metric *unrecorded;                   /* responses without a confirmed audit entry */
    struct metric *usage_kept, *usage_uncertain; /* reports to be sent again; that may be lost */
};

extern struct gateway_metrics gateway_metrics;

void gateway_metrics_open(void);
/* A response has been sent, `took_us` microseconds after its request began. */
void gateway_metrics_count(enum operation operation, int status, int64_t took_us);

#endif

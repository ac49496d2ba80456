/*
 * gateway - one event loop of the gateway with its state; its calls to access; its metrics.
 *
 * What     An edge (common/http/edge.h) and the gateway's own state: the keys seen so far, the
 *          clients that failed to authenticate, and the notices from access.
 * Owns     All of it, until the process ends.
 * Threads  The loop's. Metrics belong to the process: call gateway_metrics_open() once, before
 *          threads start; any thread may update them.
 */
#ifndef SERVICES_GATEWAY_GATEWAY_H
#define SERVICES_GATEWAY_GATEWAY_H

#include "common/http/edge.h"
#include "common/http/throttle.h"
#include "proto/outcome.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/key_lookup.h"
#include "services/gateway/postponed.h"

#define API_REQUESTS_MAX 8192

struct gateway {
    struct edge edge;                         /* must be the first member */
    h2o_multithread_receiver_t invalidations; /* notices from access */
    struct key_cache *keys;
    struct throttle *throttle;
    struct familiar *familiar;
    struct lookup_budget lookup_budget;
    h2o_linklist_t parked; /* API requests that wait until the bus is known to be up or down */
    struct postponed postponed;
    int64_t withheld_told_us; /* monotonic: when withheld lookups were last logged */
    struct key_usage usage;
    h2o_timeout_t usage_timeout;
    h2o_timeout_entry_t usage_timer;
};

/* Calls access on the gateway's own behalf: fills in the timeout and a new request id of `call`. */
MUST_CHECK enum status gateway_call(struct gateway *gateway, struct call_request *call);

/* -- metrics --------------------------------------------------------------------------------- */

/* Counted since the start. */
struct gateway_metrics {
    struct metric *key_hits, *key_misses;        /* requests whose key is cached, or is not */
    struct metric *lookups, *lookups_failed;     /* failed: no reply */
    struct metric *lookups_withheld;             /* by the lookup budget */
    struct metric *leases, *leases_failed;       /* failed: counted locally until the window ends */
    struct metric *auth_failures;                /* requests without a valid key */
    struct metric *auth_throttled;               /* refused: too many failures from their address */
    struct metric *parked;                       /* stages that waited for a silent bus */
    struct metric *postponed, *dropped;          /* requests beyond their key's answers */
    struct metric *unrecorded;                   /* responses without a confirmed audit entry */
    struct metric *usage_kept, *usage_uncertain; /* to be sent again; possibly lost */
};

extern struct gateway_metrics gateway_metrics;

void gateway_metrics_open(void);
/* A response has been sent, `took_us` microseconds after its request began. */
void gateway_metrics_count(enum operation operation, int status, int64_t took_us);

#endif

/*
 * gateway - one event loop of the gateway with its state; its calls to access.
 *
 * What     An edge (common/http/edge.h) and the gateway's own state: the keys seen so far, the
 *          clients that failed to authenticate, and the notices from access.
 * Owns     All of it, until the process ends.
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_GATEWAY_H
#define SERVICES_GATEWAY_GATEWAY_H

#include "common/base/rate.h"
#include "common/http/edge.h"
#include "common/http/throttle.h"

struct key_cache;
struct key_usage;
struct postponed;
struct recent_table;

#define API_REQUESTS_MAX 8192

struct gateway {
    struct edge edge;                         /* must be the first member */
    h2o_multithread_receiver_t invalidations; /* notices from access */
    struct key_cache *keys;
    struct throttle *throttle;
    struct recent_table *familiar;
    struct rate lookup_budget;
    struct list parked; /* API requests that wait until the bus is known to be up or down */
    struct postponed *postponed;
    int64_t withheld_told_us; /* monotonic: when withheld lookups were last logged */
    struct key_usage *usage;
    struct timer usage_timer;
};

/* Calls access on the gateway's own behalf: fills in the timeout and a new request id of `call`. */
MUST_CHECK enum status gateway_call(struct gateway *gateway, struct call_request *call);

#endif

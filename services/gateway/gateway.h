/*
 * gateway - one event loop of the gateway, and what it remembers.
 *
 * What     An edge (common/http/edge.h) and what is the gateway's own: the keys it has met, who
 *          failed to authenticate, and the notices of access.
 * Owns     All of it, until the process ends.
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_GATEWAY_H
#define SERVICES_GATEWAY_GATEWAY_H

#include "common/http/edge.h"
#include "common/http/throttle.h"
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

#endif

/*
 * actor_metrics - the metrics of a service's actors. Private to common/actor.
 *
 * Threads  actor_metrics_new() once, before actors start; updating from any.
 */
#ifndef COMMON_ACTOR_ACTOR_METRICS_H
#define COMMON_ACTOR_ACTOR_METRICS_H

#include "common/actor/handler.h"
#include "common/base/metrics.h"

struct route_metrics {
    struct metric *outcomes[OUTCOME_COUNT];
    struct metric *seconds; /* from arrival to reply */
};

struct actor_metrics {
    const struct service *service;
    /* Of the service and of the next ones in the process, in their order. */
    struct route_metrics *routes;
    struct metric *batch_size, *commit_seconds;
    struct metric *waiting; /* in mailboxes */
    struct metric *expired, *busy, *uncertain, *fallbacks, *lost_replies;
    struct metric *deferred, *lock_refusals, *hung_sessions, *slow_lane;
    struct metric *database_up, *bus_up; /* how many actors have theirs */
    struct metric *database_clock; /* seconds that our clock is ahead of it; negative: behind */
};

/* For all mailboxes of the process: `service` is the first in the chain of `next_in_process`. */
struct actor_metrics *actor_metrics_new(const struct service *service);
/* The metrics of the service's first handler; those of its others follow. */
struct route_metrics *actor_metrics_of(const struct actor_metrics *metrics,
                                       const struct service *service);
void actor_metrics_free(struct actor_metrics *metrics);

#endif

/*
 * meters - what a service's actors count. Private to common/actor.
 *
 * Threads  meters_new() once, before actors start; updating from any.
 */
#ifndef COMMON_ACTOR_METERS_H
#define COMMON_ACTOR_METERS_H

#include "common/actor/actor.h"
#include "common/base/metrics.h"

struct route_meters {
    struct metric *outcomes[OUTCOME_COUNT];
    struct metric *seconds; /* from arrival to reply */
};

struct meters {
    const struct service *service;
    struct route_meters *routes; /* of the service and of those beside it, in their order */
    struct metric *batch_size, *commit_seconds;
    struct metric *waiting; /* in mailboxes */
    struct metric *expired, *busy, *uncertain, *fallbacks, *lost_replies;
    struct metric *database_up, *bus_up; /* how many actors have theirs */
};

/* For all mailboxes of the process: `service` is the first of them. */
struct meters *meters_new(const struct service *service);
/* Those of a service's first route. */
struct route_meters *meters_of(const struct meters *meters, const struct service *service);
void meters_free(struct meters *meters);

#endif

/*
 * sender_meters - what the sender counts.
 *
 * Threads  sender_meters_init() once, before threads start; updating from any.
 */
#ifndef SERVICES_WEBHOOK_SENDER_METERS_H
#define SERVICES_WEBHOOK_SENDER_METERS_H

#include "common/base/metrics.h"
#include "services/webhook/attempt.h"

struct sender_meters {
    struct metric *results[FAILURES]; /* FAILURE_NONE: succeeded */
    struct metric *seconds;           /* of an attempt */
    struct metric *wait_seconds;      /* from queued to begun */
    struct metric *turn_seconds;
    struct metric *under_way;
    struct metric *events, *fanned;
    struct metric *interrupted, *quarantined, *overtaken, *failed_turns;
};

void sender_meters_init(struct sender_meters *meters);

#endif

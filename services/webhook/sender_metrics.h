/*
 * sender_metrics - what the sender counts.
 *
 * Threads  sender_metrics_init() once, before threads start; updating from any.
 */
#ifndef SERVICES_WEBHOOK_SENDER_METRICS_H
#define SERVICES_WEBHOOK_SENDER_METRICS_H

#include "common/base/metrics.h"
#include "services/webhook/queue.h"

struct sender_metrics {
    struct metric *results[FAILURES]; /* FAILURE_NONE: succeeded */
    struct metric *seconds;           /* of an attempt */
    struct metric *wait_seconds;      /* from queued to begun */
    struct metric *transaction_seconds;
    struct metric *under_way;
    struct metric *events, *fanned;
    struct metric *skipped[STORE_SKIPS], *unrecorded;
    struct metric *interrupted, *quarantined, *overtaken, *failed_transactions;
};

void sender_metrics_init(struct sender_metrics *metrics);

#endif

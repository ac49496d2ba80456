/*
 * sender_metrics - the metrics of the sender and of its attempts.
 *
 * Threads  sender_metrics_init() once, before there are others; then any may update them.
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
    struct metric *claimed, *in_flight;
    struct metric *events, *fanned;
    struct metric *skipped[QUEUE_SKIPS], *unrecorded;
    struct metric *scheduled, *unscheduled, *retried, *dropped;
    struct metric *interrupted, *quarantined, *late_results, *failed_transactions;
};

void sender_metrics_init(struct sender_metrics *metrics);

#endif

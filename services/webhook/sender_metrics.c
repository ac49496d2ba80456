#include "services/webhook/sender_metrics.h"

#include <stdio.h>

static void init_results(struct sender_metrics *metrics)
{
    for (int i = 0; i < FAILURES; i++) {
        char labels[64];

        snprintf(labels, sizeof(labels), "result=\"%s\"",
                 i == FAILURE_NONE ? "succeeded" : failure_name((enum failure)i));
        metrics->results[i] =
            metric_counter("conversations_webhook_deliveries_total", labels, "Attempts that ended");
    }
}

static void init_skipped(struct sender_metrics *metrics)
{
    static const char *const labels[QUEUE_SKIPS] = {
        [SKIP_DISABLED] = "reason=\"endpoint_disabled\"",
        [SKIP_EXPIRED] = "reason=\"expired\"",
        [SKIP_OVER_BUDGET] = "reason=\"over_budget\"",
    };

    for (int i = 0; i < QUEUE_SKIPS; i++)
        metrics->skipped[i] = metric_counter("conversations_webhook_skipped_total", labels[i],
                                             "Deliveries skipped instead of queued");
    metrics->unrecorded = metric_counter("conversations_webhook_skipped_unrecorded_total", NULL,
                                         "Skipped deliveries that are not in the log");
}

static void init_retries(struct sender_metrics *metrics)
{
    metrics->scheduled = metric_counter("conversations_webhook_retries_scheduled_total", NULL,
                                        "Retries scheduled after a failed attempt");
    metrics->unscheduled = metric_counter("conversations_webhook_retries_unscheduled_total", NULL,
                                          "Failed attempts that are not retried because too many "
                                          "retries wait for the endpoint");
    metrics->retried =
        metric_counter("conversations_webhook_retries_total", NULL, "Retries that were queued");
    metrics->dropped = metric_counter("conversations_webhook_retries_dropped_total", NULL,
                                      "Retries dropped when they were due: resent or a day late");
}

void sender_metrics_init(struct sender_metrics *metrics)
{
    init_results(metrics);
    init_skipped(metrics);
    init_retries(metrics);
    metrics->seconds = metric_histogram_seconds("conversations_webhook_delivery_seconds", NULL,
                                                "From the DNS lookup to the end of the response");
    metrics->wait_seconds =
        metric_histogram_seconds("conversations_webhook_wait_seconds", NULL, "Time in the queue");
    metrics->transaction_seconds = metric_histogram_seconds(
        "conversations_webhook_transaction_seconds", NULL, "Transactions of the sender");
    metrics->claimed = metric_gauge("conversations_webhook_claimed", NULL,
                                    "Deliveries claimed: in flight, waiting for others to the same "
                                    "endpoint, or to be completed");
    metrics->in_flight =
        metric_gauge("conversations_webhook_in_flight", NULL, "Attempts in flight");
    metrics->events =
        metric_counter("conversations_webhook_events_total", NULL, "Events fanned out");
    metrics->fanned = metric_counter("conversations_webhook_fanned_out_total", NULL,
                                     "Deliveries created from events, including skipped ones");
    metrics->interrupted = metric_counter("conversations_webhook_interrupted_total", NULL,
                                          "Attempts interrupted by a worker crash");
    metrics->quarantined =
        metric_counter("conversations_webhook_quarantined_total", NULL,
                       "Deliveries quarantined after crashing a worker three times in a row");
    metrics->late_results = metric_counter("conversations_webhook_late_results_total", NULL,
                                           "Results that arrived after their claim had expired");
    metrics->failed_transactions = metric_counter("conversations_webhook_failed_transactions_total",
                                                  NULL, "Transactions of the sender that failed");
}

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
    static const char *const labels[STORE_SKIPS] = {
        [SKIP_DISABLED] = "reason=\"endpoint_disabled\"",
        [SKIP_EXPIRED] = "reason=\"expired\"",
        [SKIP_OVER_BUDGET] = "reason=\"over_budget\"",
    };

    for (int i = 0; i < STORE_SKIPS; i++)
        metrics->skipped[i] = metric_counter("conversations_webhook_skipped_total", labels[i],
                                             "Deliveries skipped instead of queued");
    metrics->unrecorded = metric_counter("conversations_webhook_skipped_unrecorded_total", NULL,
                                         "Skipped deliveries that are not in the log either");
}

void sender_metrics_init(struct sender_metrics *metrics)
{
    init_results(metrics);
    init_skipped(metrics);
    metrics->seconds = metric_histogram_seconds("conversations_webhook_delivery_seconds", NULL,
                                                "From the DNS lookup to the end of the response");
    metrics->wait_seconds =
        metric_histogram_seconds("conversations_webhook_wait_seconds", NULL, "Time in the queue");
    metrics->transaction_seconds = metric_histogram_seconds("conversations_webhook_turn_seconds",
                                                            NULL, "Transactions of the sender");
    metrics->under_way =
        metric_gauge("conversations_webhook_under_way", NULL, "Attempts in flight");
    metrics->events =
        metric_counter("conversations_webhook_events_total", NULL, "Events fanned out");
    metrics->fanned = metric_counter("conversations_webhook_fanned_out_total", NULL,
                                     "Deliveries created from events, including skipped ones");
    metrics->interrupted = metric_counter("conversations_webhook_interrupted_total", NULL,
                                          "Attempts interrupted by a worker crash");
    metrics->quarantined =
        metric_counter("conversations_webhook_quarantined_total", NULL,
                       "Deliveries quarantined after crashing a worker three times in a row");
    metrics->overtaken = metric_counter("conversations_webhook_overtaken_total", NULL,
                                        "Results that arrived after their claim had expired");
    metrics->failed_transactions = metric_counter("conversations_webhook_failed_turns_total", NULL,
                                                  "Transactions of the sender that failed");
}

#include "services/webhook/sender_meters.h"

#include <stdio.h>

static void init_results(struct sender_meters *meters)
{
    for (int i = 0; i < FAILURES; i++) {
        char labels[64];

        snprintf(labels, sizeof(labels), "result=\"%s\"",
                 i == FAILURE_NONE ? "succeeded" : failure_name((enum failure)i));
        meters->results[i] =
            metric_counter("conversations_webhook_deliveries_total", labels, "Attempts that ended");
    }
}

void sender_meters_init(struct sender_meters *meters)
{
    init_results(meters);
    meters->seconds = metric_histogram_seconds("conversations_webhook_delivery_seconds", NULL,
                                               "From the look-up of the name to the answer's end");
    meters->wait_seconds = metric_histogram_seconds("conversations_webhook_wait_seconds", NULL,
                                                    "From queued to begun");
    meters->turn_seconds = metric_histogram_seconds("conversations_webhook_turn_seconds", NULL,
                                                    "Transactions of the sender");
    meters->under_way = metric_gauge("conversations_webhook_under_way", NULL, "Attempts under way");
    meters->events =
        metric_counter("conversations_webhook_events_total", NULL, "Events fanned out");
    meters->fanned = metric_counter("conversations_webhook_fanned_out_total", NULL,
                                    "Deliveries made of events, skipped ones included");
    meters->interrupted = metric_counter("conversations_webhook_interrupted_total", NULL,
                                         "Attempts whose worker did not come back");
    meters->quarantined =
        metric_counter("conversations_webhook_quarantined_total", NULL,
                       "Deliveries given up since they cost a worker three times in a row: alarm");
    meters->overtaken = metric_counter("conversations_webhook_overtaken_total", NULL,
                                       "Results that came after the claim was taken for lost");
    meters->failed_turns = metric_counter("conversations_webhook_failed_turns_total", NULL,
                                          "Transactions of the sender that failed");
}

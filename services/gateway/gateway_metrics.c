#include "services/gateway/gateway_metrics.h"

#include <stdio.h>

#include "common/http/edge_request.h"

#define PREFIX "conversations_gateway_"

struct gateway_metrics gateway_metrics;

/* Every status that leaves the gateway; anything else is counted under the last. */
static const int statuses[] = {200, 201, 400, 401, 403, 404, 405, 406,
                               409, 413, 415, 417, 429, 503, 500};
#define N_STATUSES ARRAY_SIZE(statuses)

static struct metric *responses[OPERATION_COUNT][N_STATUSES];
static struct metric *durations[OPERATION_COUNT];

static const char *label_of(enum operation operation)
{
    return operation == OP_NONE ? "none" : operation_name(operation);
}

static void open_responses(void)
{
    char labels[80];

    for (int op = 0; op < OPERATION_COUNT; op++)
        for (size_t i = 0; i < N_STATUSES; i++) {
            snprintf(labels, sizeof(labels), "operation=\"%s\",status=\"%d\"",
                     label_of((enum operation)op), statuses[i]);
            responses[op][i] = metric_counter(PREFIX "requests_total", labels, "Requests answered");
        }
    for (int op = 0; op < OPERATION_COUNT; op++) {
        snprintf(labels, sizeof(labels), "operation=\"%s\"", label_of((enum operation)op));
        durations[op] = metric_histogram_seconds(PREFIX "request_seconds", labels,
                                                 "From the complete request to its response");
    }
}

void gateway_metrics_open(void)
{
    edge_metrics_open(PREFIX);
    open_responses();
    gateway_metrics.key_hits =
        metric_counter(PREFIX "key_cache_hits_total", NULL, "Requests with a known key");
    gateway_metrics.key_misses =
        metric_counter(PREFIX "key_cache_misses_total", NULL, "Requests with an unknown key");
    gateway_metrics.lookups = metric_counter(PREFIX "key_lookups_total", NULL, "Key lookups");
    gateway_metrics.lookups_failed =
        metric_counter(PREFIX "key_lookups_failed_total", NULL, "Key lookups without a reply");
    gateway_metrics.lookups_withheld =
        metric_counter(PREFIX "key_lookups_withheld_total", NULL,
                       "Key lookups skipped by the unknown-key rate limit");
    gateway_metrics.leases =
        metric_counter(PREFIX "quota_leases_total", NULL, "Requests for a quota lease");
    gateway_metrics.leases_failed =
        metric_counter(PREFIX "quota_leases_failed_total", NULL,
                       "Failed quota leases; the window is counted locally");
    gateway_metrics.auth_failures = metric_counter(PREFIX "authentication_failures_total", NULL,
                                                   "Requests without a valid key");
    gateway_metrics.auth_throttled =
        metric_counter(PREFIX "authentication_throttled_total", NULL,
                       "Requests refused after too many failed authentications from their address");
    gateway_metrics.parked =
        metric_counter(PREFIX "calls_held_total", NULL, "Commands parked while the bus was silent");
    gateway_metrics.unrecorded = metric_counter(PREFIX "answers_unrecorded_total", NULL,
                                                "Responses sent without a confirmed audit entry");
    gateway_metrics.usage_kept = metric_counter(PREFIX "usage_reports_kept_total", NULL,
                                                "Key usage reports that failed and will be resent");
    gateway_metrics.usage_uncertain = metric_counter(PREFIX "usage_reports_uncertain_total", NULL,
                                                     "Key usage reports whose outcome is unknown");
}

void gateway_metrics_count(enum operation operation, int status, int64_t took_us)
{
    size_t i = 0;

    while (i < N_STATUSES - 1 && statuses[i] != status)
        i++;
    metric_add(responses[operation][i], 1);
    metric_observe(durations[operation], took_us);
}

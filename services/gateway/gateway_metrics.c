#include "services/gateway/gateway_metrics.h"

#include <stdio.h>

#include "common/http/edge_metrics.h"
#include "common/http/status_counts.h"

#define PREFIX              "conversations_gateway_"
#define COUNTER(name, help) metric_counter(PREFIX name, NULL, help)

struct gateway_metrics gateway_metrics;

static struct status_counts responses[OPERATION_COUNT];
static struct metric *durations[OPERATION_COUNT];

static const char *label_of(enum operation operation)
{
    return operation == OP_NONE ? "none" : operation_name(operation);
}

static void open_responses(void)
{
    char labels[64];

    for (int op = 0; op < OPERATION_COUNT; op++) {
        snprintf(labels, sizeof(labels), "operation=\"%s\",", label_of((enum operation)op));
        status_counts_open(&responses[op], PREFIX "requests_total", labels, 304);
    }
    for (int op = 0; op < OPERATION_COUNT; op++) {
        snprintf(labels, sizeof(labels), "operation=\"%s\"", label_of((enum operation)op));
        durations[op] = metric_histogram_seconds(PREFIX "request_seconds", labels,
                                                 "From the complete request to its response");
    }
}

void gateway_metrics_open(void)
{
    struct gateway_metrics *m = &gateway_metrics;

    edge_metrics_open(PREFIX);
    open_responses();
    m->key_hits = COUNTER("key_cache_hits_total", "Requests with a known key");
    m->key_misses = COUNTER("key_cache_misses_total", "Requests with an unknown key");
    m->lookups = COUNTER("key_lookups_total", "Key lookups");
    m->lookups_failed = COUNTER("key_lookups_failed_total", "Key lookups without a reply");
    m->lookups_limited =
        COUNTER("key_lookups_limited_total", "Key lookups skipped by the unknown-key rate limit");
    m->leases = COUNTER("quota_leases_total", "Requests for a quota lease");
    m->leases_failed =
        COUNTER("quota_leases_failed_total", "Failed quota leases; the window is counted locally");
    m->auth_failures = COUNTER("authentication_failures_total", "Requests without a valid key");
    m->auth_throttled =
        COUNTER("authentication_throttled_total",
                "Requests refused after too many failed authentications from their address");
    m->parked = COUNTER("calls_parked_total", "Commands parked while the bus was silent");
    m->postponed = COUNTER("requests_postponed_total",
                           "Requests that waited because their key had had all its answers");
    m->dropped = COUNTER("requests_dropped_total",
                         "Requests whose connection was ended because their key had had all its "
                         "answers");
    m->unrecorded =
        COUNTER("responses_unrecorded_total", "Responses sent without a confirmed audit entry");
    m->usage_failed =
        COUNTER("usage_reports_failed_total", "Key usage reports that failed and will be resent");
    m->usage_uncertain =
        COUNTER("usage_reports_uncertain_total", "Key usage reports whose outcome is unknown");
}

void gateway_metrics_count(enum operation operation, int status, int64_t took_us)
{
    status_counts_add(&responses[operation], status);
    metric_observe(durations[operation], took_us);
}

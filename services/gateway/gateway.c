#include "services/gateway/gateway.h"

#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "common/http/response.h"
#include "proto/headers.h"

enum status gateway_call(struct gateway *gateway, struct call_request *call)
{
    struct uuid request_id = uuid_v7(clock_us());
    char id[UUID_TEXT + 1];
    uint64_t handle;

    uuid_format(&request_id, id);
    call_headers_add(&call->headers, HEADER_REQUEST_ID, id);
    call->timeout = CALL_TIMEOUT_SHORT;
    return calls_start(&gateway->edge.calls, call, &handle);
}

/* -- metrics --------------------------------------------------------------------------------- */

#define PREFIX "conversations_gateway_"

struct gateway_metrics gateway_metrics;

static struct response_counts responses[OPERATION_COUNT];
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
        response_counts_open(&responses[op], PREFIX "requests_total", labels, 304);
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
    response_counts_add(&responses[operation], status);
    metric_observe(durations[operation], took_us);
}

#include "services/gateway/meter.h"

#include <stdio.h>

#include "common/edge/edge_meter.h"

#define PREFIX "conversations_gateway_"

struct meter meter;

/* Every status that leaves the gateway; anything else is counted under the last. */
static const int statuses[] = {200, 201, 400, 401, 403, 404, 405, 406,
                               409, 413, 415, 417, 429, 503, 500};
#define N_STATUSES (sizeof(statuses) / sizeof(statuses[0]))

static struct metric *answers[OPERATION_COUNT][N_STATUSES];
static struct metric *durations[OPERATION_COUNT];

static const char *label_of(enum operation operation)
{
    return operation == OP_NONE ? "none" : operation_name(operation);
}

static void open_answers(void)
{
    char labels[80];

    for (int op = 0; op < OPERATION_COUNT; op++)
        for (size_t i = 0; i < N_STATUSES; i++) {
            snprintf(labels, sizeof(labels), "operation=\"%s\",status=\"%d\"",
                     label_of((enum operation)op), statuses[i]);
            answers[op][i] = metric_counter(PREFIX "requests_total", labels, "Requests answered");
        }
    for (int op = 0; op < OPERATION_COUNT; op++) {
        snprintf(labels, sizeof(labels), "operation=\"%s\"", label_of((enum operation)op));
        durations[op] = metric_histogram_seconds(PREFIX "request_seconds", labels,
                                                 "From the whole request to its answer");
    }
}

void meter_open(void)
{
    edge_meter_open(PREFIX);
    open_answers();
    meter.key_hits =
        metric_counter(PREFIX "key_cache_hits_total", NULL, "Requests with a key met before");
    meter.key_misses =
        metric_counter(PREFIX "key_cache_misses_total", NULL, "Requests with a key not met before");
    meter.lookups = metric_counter(PREFIX "key_lookups_total", NULL, "Questions about a key");
    meter.lookups_failed =
        metric_counter(PREFIX "key_lookups_failed_total", NULL, "Questions without an answer");
    meter.lookups_withheld =
        metric_counter(PREFIX "key_lookups_withheld_total", NULL,
                       "Questions not asked because too many keys were nobody's lately");
    meter.leases = metric_counter(PREFIX "quota_leases_total", NULL, "Questions for a lease");
    meter.leases_failed = metric_counter(PREFIX "quota_leases_failed_total", NULL,
                                         "Leases not got: counted locally for that window");
    meter.auth_failures =
        metric_counter(PREFIX "authentication_failures_total", NULL, "Requests without a good key");
    meter.auth_throttled = metric_counter(PREFIX "authentication_throttled_total", NULL,
                                          "Requests from addresses that failed too often");
    meter.held = metric_counter(PREFIX "calls_held_total", NULL,
                                "Commands that waited for a bus that was silent for a moment");
    meter.unrecorded = metric_counter(PREFIX "answers_unrecorded_total", NULL,
                                      "Answers given although their audit entry was not confirmed");
    meter.usage_kept = metric_counter(PREFIX "usage_reports_kept_total", NULL,
                                      "Reports of use that access did not take, to be sent again");
    meter.usage_uncertain =
        metric_counter(PREFIX "usage_reports_uncertain_total", NULL,
                       "Reports of use of which it is not known whether access took them");
}

void meter_answer(enum operation operation, int status, int64_t took_us)
{
    size_t i = 0;

    while (i < N_STATUSES - 1 && statuses[i] != status)
        i++;
    metric_add(answers[operation][i], 1);
    metric_observe(durations[operation], took_us);
}

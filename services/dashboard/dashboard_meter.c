#include "services/dashboard/dashboard_meter.h"

#include <stdio.h>

#include "common/base/clock.h"
#include "common/edge/edge_meter.h"

#define PREFIX "conversations_dashboard_"

struct dashboard_meter dashboard_meter;

/* Every status that leaves the dashboard; anything else is counted under the last. */
static const int statuses[] = {200, 201, 304, 400, 401, 403, 404, 405,
                               409, 413, 415, 417, 429, 503, 500};
#define N_STATUSES (sizeof(statuses) / sizeof(statuses[0]))

static struct metric *responses[N_STATUSES], *duration;

void dashboard_meter_open(void)
{
    char label[32];

    edge_meter_open(PREFIX);
    for (size_t i = 0; i < N_STATUSES; i++) {
        snprintf(label, sizeof(label), "status=\"%d\"", statuses[i]);
        responses[i] = metric_counter(PREFIX "requests_total", label, "Requests answered");
    }
    duration = metric_histogram_seconds(PREFIX "request_seconds", NULL,
                                        "From the whole request to the beginning of its answer");
    dashboard_meter.sign_ins = metric_counter(PREFIX "sign_ins_total", NULL, "Sessions that began");
    dashboard_meter.sign_ins_refused = metric_counter(PREFIX "sign_ins_refused_total", NULL,
                                                      "Sign-ins with a wrong password or too many");
    dashboard_meter.foreign =
        metric_counter(PREFIX "foreign_requests_total", NULL,
                       "Requests refused because no page of the dashboard has made them");
    dashboard_meter.exports =
        metric_counter(PREFIX "exports_total", NULL, "Exports of the audit trail that began");
    dashboard_meter.exports_broken = metric_counter(
        PREFIX "exports_broken_total", NULL, "Exports that a failure ended before their end");
}

void dashboard_meter_response(const struct visit *visit, int status)
{
    size_t i = 0;

    while (i < N_STATUSES - 1 && statuses[i] != status)
        i++;
    metric_add(responses[i], 1);
    metric_observe(duration, clock_mono_us() - visit->started_us);
}

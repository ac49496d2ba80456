#include "services/dashboard/dashboard_metrics.h"

#include <stdio.h>

#include "common/base/clock.h"
#include "common/http/edge_request.h"

#define PREFIX "conversations_dashboard_"

struct dashboard_metrics dashboard_metrics;

/* Every status that leaves the dashboard; anything else is counted under the last. */
static const int statuses[] = {200, 201, 304, 400, 401, 403, 404, 405,
                               409, 413, 415, 417, 429, 503, 500};
#define N_STATUSES ARRAY_SIZE(statuses)

static struct metric *responses[N_STATUSES], *duration;

static struct metric *open_limited(const char *label)
{
    return metric_counter(PREFIX "requests_limited_total", label,
                          "Requests answered 429 because of the limits per "
                          "session, organization or address without a session");
}

void dashboard_metrics_open(void)
{
    char label[32];

    edge_metrics_open(PREFIX);
    for (size_t i = 0; i < N_STATUSES; i++) {
        snprintf(label, sizeof(label), "status=\"%d\"", statuses[i]);
        responses[i] = metric_counter(PREFIX "requests_total", label, "Requests answered");
    }
    duration = metric_histogram_seconds(PREFIX "request_seconds", NULL,
                                        "From the complete request to the start of its response");
    dashboard_metrics.sign_ins = metric_counter(PREFIX "sign_ins_total", NULL, "Sessions started");
    dashboard_metrics.sign_ins_refused =
        metric_counter(PREFIX "sign_ins_refused_total", NULL,
                       "Sign-ins refused: wrong password, or too many attempts");
    dashboard_metrics.turned_away =
        metric_counter(PREFIX "sign_ins_turned_away_total", NULL,
                       "Sign-ins refused because too many passwords were waiting to be checked");
    dashboard_metrics.foreign =
        metric_counter(PREFIX "foreign_requests_total", NULL,
                       "Requests refused because they were not sent by a page of the dashboard");
    dashboard_metrics.limited_sessions = open_limited("by=\"session\"");
    dashboard_metrics.limited_organizations = open_limited("by=\"organization\"");
    dashboard_metrics.limited_strangers = open_limited("by=\"address\"");
    dashboard_metrics.exports =
        metric_counter(PREFIX "exports_total", NULL, "Exports of the audit log started");
    dashboard_metrics.exports_broken =
        metric_counter(PREFIX "exports_broken_total", NULL, "Exports interrupted by a failure");
}

void dashboard_metrics_response(const struct edge_request *http, int status)
{
    size_t i = 0;

    while (i < N_STATUSES - 1 && statuses[i] != status)
        i++;
    metric_add(responses[i], 1);
    metric_observe(duration, clock_mono_us() - http->started_us);
}

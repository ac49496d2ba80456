#include "services/dashboard/dashboard.h"

#include "common/base/clock.h"
#include "common/http/response.h"

#define PREFIX "conversations_dashboard_"

struct dashboard_metrics dashboard_metrics;

static struct response_counts responses;
static struct metric *duration;

static struct metric *open_limited(const char *label)
{
    return metric_counter(PREFIX "requests_limited_total", label,
                          "Requests answered 429 because of the limits per "
                          "session, organization or address without a session");
}

void dashboard_metrics_open(void)
{
    edge_metrics_open(PREFIX);
    response_counts_open(&responses, PREFIX "requests_total", "", 406);
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
    response_counts_add(&responses, status);
    metric_observe(duration, clock_mono_us() - http->started_us);
}

#include "services/dashboard/dashboard_metrics.h"

#include "common/base/clock.h"
#include "common/http/edge_metrics.h"
#include "common/http/edge_request.h"
#include "common/http/status_counts.h"

#define PREFIX              "conversations_dashboard_"
#define COUNTER(name, help) metric_counter(PREFIX name, NULL, help)

struct dashboard_metrics dashboard_metrics;

static struct status_counts responses;
static struct metric *duration;

static struct metric *open_limited(const char *label)
{
    return metric_counter(PREFIX "requests_limited_total", label,
                          "Requests answered 429 because of the limits per "
                          "session, organization or address without a session");
}

void dashboard_metrics_open(void)
{
    struct dashboard_metrics *m = &dashboard_metrics;

    edge_metrics_open(PREFIX);
    status_counts_open(&responses, PREFIX "requests_total", "", 406);
    duration = metric_histogram_seconds(PREFIX "request_seconds", NULL,
                                        "From the complete request to the start of its response");
    m->sign_ins = COUNTER("sign_ins_total", "Sessions started");
    m->sign_ins_refused =
        COUNTER("sign_ins_refused_total", "Sign-ins refused: wrong password, or too many attempts");
    m->sign_ins_shed =
        COUNTER("sign_ins_shed_total",
                "Sign-ins refused because too many passwords were waiting to be checked");
    m->foreign = COUNTER("cross_site_requests_refused_total",
                         "Requests refused because they were not sent by a page of the dashboard");
    m->limited_sessions = open_limited("by=\"session\"");
    m->limited_organizations = open_limited("by=\"organization\"");
    m->limited_changes = open_limited("by=\"changes\"");
    m->limited_strangers = open_limited("by=\"address\"");
    m->exports = COUNTER("exports_total", "Exports of the audit log started");
    m->exports_failed = COUNTER("exports_failed_total", "Exports interrupted by a failure");
}

void dashboard_metrics_response(const struct edge_request *http, int status)
{
    status_counts_add(&responses, status);
    metric_observe(duration, clock_mono_us() - http->started_us);
}

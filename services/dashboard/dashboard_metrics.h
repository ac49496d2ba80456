/*
 * dashboard_metrics - the dashboard's own metrics, beside those of every edge.
 *
 * Threads  dashboard_metrics_open() once, before threads start; updating from any.
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_METRICS_H
#define SERVICES_DASHBOARD_DASHBOARD_METRICS_H

#include "common/base/metrics.h"
#include "common/http/edge_request.h"

struct dashboard_metrics {
    struct metric *sign_ins, *sign_ins_refused, *turned_away;
    struct metric *foreign; /* requests that no page of ours has made */
    struct metric *limited_sessions, *limited_organizations, *limited_strangers; /* 429 */
    struct metric *exports, *exports_broken;
};

extern struct dashboard_metrics dashboard_metrics;

void dashboard_metrics_open(void);
void dashboard_metrics_response(const struct edge_request *http, int status);

#endif

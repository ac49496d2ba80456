/*
 * dashboard_metrics - the metrics of the dashboard, counted since the start.
 *
 * Threads  dashboard_metrics_open() once, before threads start; then any thread may update them.
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_METRICS_H
#define SERVICES_DASHBOARD_DASHBOARD_METRICS_H

#include "common/base/metrics.h"

struct edge_request;

struct dashboard_metrics {
    struct metric *sign_ins, *sign_ins_refused; /* refused: wrong password or too many attempts */
    struct metric *sign_ins_shed;               /* sign-ins: the queue at the door was full */
    struct metric *foreign;                     /* requests not sent by a page of the dashboard */
    struct metric *limited_sessions, *limited_organizations, *limited_changes, *limited_strangers;
    struct metric *exports, *exports_failed; /* of the audit log; failed: interrupted */
};

extern struct dashboard_metrics dashboard_metrics;

void dashboard_metrics_open(void);
/* Counts a response with this status, as it starts. */
void dashboard_metrics_response(const struct edge_request *http, int status);

#endif

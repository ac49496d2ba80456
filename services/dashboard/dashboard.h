/*
 * dashboard - the event loop of the dashboard with its state about clients; its metrics.
 *
 * What     An edge (common/http/edge.h) and the dashboard's own state: the shares of sessions,
 *          organizations and their changes, the door, the clients without a valid session, the running exports, and
 *          the state of the services. The program has one.
 * Owns     All of it, until the process ends.
 * Threads  The loop's. Metrics belong to the process: call dashboard_metrics_open() once, before
 *          threads start; any thread may update them.
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_H
#define SERVICES_DASHBOARD_DASHBOARD_H

#include "common/http/edge.h"
#include "common/http/throttle.h"
#include "services/dashboard/dashboard_export.h"
#include "services/dashboard/deployment.h"
#include "services/dashboard/door.h"

struct dashboard {
    struct edge edge;     /* must be the first member */
    const char *base_url; /* of the API, as shown on the pages */
    struct shares *sessions, *organizations, *changes;
    struct door door;
    struct throttle *strangers; /* addresses that send invalid sessions */
    struct dashboard_exports exports;
    bool shows_services; /* to owners; from a setting */
    struct deployment deployment;
};

/* -- metrics --------------------------------------------------------------------------------- */

/* Counted since the start. */
struct dashboard_metrics {
    struct metric *sign_ins, *sign_ins_refused; /* refused: wrong password or too many attempts */
    struct metric *turned_away;                 /* sign-ins: the queue at the door was full */
    struct metric *foreign;                     /* requests not sent by a page of the dashboard */
    struct metric *limited_sessions, *limited_organizations, *limited_changes, *limited_strangers;
    struct metric *exports, *exports_broken; /* of the audit log; broken: interrupted */
};

extern struct dashboard_metrics dashboard_metrics;

void dashboard_metrics_open(void);
/* Counts a response with this status, as it starts. */
void dashboard_metrics_response(const struct edge_request *http, int status);

#endif

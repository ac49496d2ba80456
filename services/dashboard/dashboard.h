/*
 * dashboard - the event loop of the dashboard, and what it remembers of its clients; its metrics.
 *
 * What     An edge (common/http/edge.h) and the dashboard's own state: the shares of sessions and
 *          organizations, the door, the clients without a valid session, the running exports, and
 *          the state of the services. The program has one.
 * Owns     All of it, until the process ends.
 * Threads  The loop's; metrics belong to the process: dashboard_metrics_open() once, before threads
 *          start, updating from any.
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_H
#define SERVICES_DASHBOARD_DASHBOARD_H

#include "common/http/edge.h"
#include "common/http/throttle.h"
#include "services/dashboard/dashboard_export.h"
#include "services/dashboard/deployment.h"
#include "services/dashboard/door.h"

struct dashboard {
    struct edge edge;     /* first: the two are one */
    const char *base_url; /* of the API, as the pages show it */
    struct shares *sessions, *organizations;
    struct door door;
    struct throttle *strangers; /* addresses that present invalid sessions */
    struct dashboard_exports exports;
    bool shows_services; /* to owners; a setting */
    struct deployment deployment;
};

/* -- metrics --------------------------------------------------------------------------------- */

/* Counted since the start. */
struct dashboard_metrics {
    struct metric *sign_ins, *sign_ins_refused; /* refused: wrong password or too many attempts */
    struct metric *turned_away;                 /* sign-ins: too many passwords were waiting */
    struct metric *foreign;                     /* requests that no page of ours has made */
    struct metric *limited_sessions, *limited_organizations, *limited_strangers; /* 429 */
    struct metric *exports, *exports_broken; /* of the audit log; broken: by a failure */
};

extern struct dashboard_metrics dashboard_metrics;

void dashboard_metrics_open(void);
/* A response with this status begins. */
void dashboard_metrics_response(const struct edge_request *http, int status);

#endif

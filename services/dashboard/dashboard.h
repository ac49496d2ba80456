/*
 * dashboard - the event loop of the dashboard, and what it remembers of who asks.
 *
 * What     An edge (common/http/edge.h) and what is the dashboard's own: the shares of sessions and
 *          organizations, the door, who came without a valid session, and the exports that run. The
 *          program has one.
 * Owns     All of it, until the process ends.
 * Threads  The loop's.
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_H
#define SERVICES_DASHBOARD_DASHBOARD_H

#include "common/http/edge.h"
#include "common/http/throttle.h"
#include "services/dashboard/dashboard_export.h"
#include "services/dashboard/door.h"

struct dashboard {
    struct edge edge;     /* first: the two are one */
    const char *base_url; /* of the API, as the pages show it */
    struct shares *sessions, *organizations;
    struct door door;
    struct throttle *strangers; /* addresses that present invalid sessions */
    struct dashboard_exports exports;
};

#endif

/*
 * dashboard - the event loop of the dashboard with its state about clients.
 *
 * What     An edge (common/http/edge.h) and the dashboard's own state: the shares of sessions,
 *          organizations and their changes, the door, the clients without a valid session, the
 *          running exports, and the state of the services. The program has one.
 * Owns     All of it, until the process ends.
 * Threads  The loop's.
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_H
#define SERVICES_DASHBOARD_DASHBOARD_H

#include "common/http/edge.h"
#include "common/http/throttle.h"
#include "services/dashboard/deployment.h"
#include "services/dashboard/door.h"

#define EXPORTS_MAX 8

struct dashboard {
    struct edge edge;     /* must be the first member */
    const char *base_url; /* of the API, as shown on the pages */
    struct shares *sessions, *organizations, *changes;
    struct door door;
    struct throttle *strangers;                    /* addresses that send invalid sessions */
    struct dashboard_export *exports[EXPORTS_MAX]; /* running; NULL: the place is free */
    bool shows_services;                           /* to owners; from a setting */
    struct deployment deployment;
};

#endif

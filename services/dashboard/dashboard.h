/*
 * dashboard - the program: its settings, and its loop with what that remembers of who asks.
 *
 * Owns     All of it, until the process ends.
 * Threads  Settings are read before threads start; constant afterwards. All else is the loop's.
 */
#ifndef DASHBOARD_DASHBOARD_H
#define DASHBOARD_DASHBOARD_H

#include "common/http/throttle.h"
#include "common/runtime/edge_program.h"
#include "services/dashboard/door.h"

struct dashboard_settings {
    const char *address;
    int64_t port;
    const char *base_url;        /* of the API, as the pages show it */
    int64_t requests_per_second; /* of a session */
};

struct dashboard {
    struct edge edge; /* first: the two are one */
    struct shares *sessions, *organizations;
    struct door door;
    struct throttle *strangers; /* addresses that present invalid sessions */
};

extern struct dashboard_settings dashboard_settings;
extern const struct edge_program dashboard_program;

#endif

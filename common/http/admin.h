/*
 * admin - the HTTP listener for operators that every process has.
 *
 * What     GET /livez    200 while its threads run; 503, with the name of one, if that has not made
 *                        progress for 15 s
 *          GET /readyz   200 if its dependencies are reachable and its threads run; 503 with a
 *                        reason otherwise, such as a thread without progress for 3 s
 *          GET /servez   the same, but also 200 without its dependencies if it answers requests
 *                        even then: tells balancers whether to send it requests
 *          GET /metrics  Prometheus text format
 *
 *          Anything else is 404. Runs on a separate thread, on ADMIN_ADDRESS:ADMIN_PORT.
 * Threads  admin_start() once; the callbacks run on the admin thread.
 * Fails    ST_UNAVAILABLE when the port cannot be bound (logged).
 */
#ifndef COMMON_HTTP_ADMIN_H
#define COMMON_HTTP_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

struct admin;

struct admin_options {
    const char *address;
    uint16_t port; /* 0 = no listener */
    /* False: not ready; `reason` has one short sentence with the cause. */
    bool (*is_ready)(void *closure, char reason[128]);
    void *closure;
    bool (*serves)(void *closure, char reason[128]); /* likewise; NULL = as is_ready */
};

MUST_CHECK enum status admin_start(const struct admin_options *options, struct admin **out);
void admin_stop(struct admin *admin); /* joins its thread; NULL is fine */

#endif

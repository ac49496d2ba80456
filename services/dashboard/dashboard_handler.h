/*
 * dashboard_handler - one HTTP request, from its headers to its response.
 *
 *     a path of a page or a file   the shell or the file, at once
 *     /data/...                    check that it is from our own pages, which user sent it (access
 *                                  is asked for each request), and the user's role; then send one
 *                                  command, or a stream of them
 *
 * Owns     Requests, as an edge_request does (common/http/edge_request.h).
 * Threads  The loop's.
 *
 * dashboard_handler.c  begins and ends requests, and moves them from step to step
 * dashboard_request.c  what a request holds; its checks before a service is asked
 * dashboard_session.c  asks for the user; shows, begins and ends sessions
 * backend.c            builds the command and passes on its reply
 * dashboard_export.c   streams the audit log
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_HANDLER_H
#define SERVICES_DASHBOARD_DASHBOARD_HANDLER_H

#include <h2o.h>

#define DASHBOARD_REQUESTS_MAX 2048 /* at a time */

/* Handles every request. */
int dashboard_handle(h2o_handler_t *handler, h2o_req_t *req);

#endif

/*
 * dashboard_request - one HTTP request on its way to its answer.
 *
 *     a path of a page or a file   the shell or the file, at once
 *     /data/...                    is it from our own pages, which user is it (asked of access for
 *                                  each request), may they; then one command, or a stream of them
 *
 * What     Nothing is asked of a service before the request is known to come from a page of ours:
 *          Origin, X-CSRF-Token and Content-Type of all but GET. Only the session is asked for
 *          before its user is known, and all of it within the shares of the session and of the
 *          organization (door.h). All that it asks has one deadline together; where the answer
 *          is a stream, each part of it has.
 * Owns     Itself, as an edge_request does (common/http/edge_request.h).
 * Threads  The loop's.
 *
 * dashboard_request.c  begins, ends, and checks the user
 * backend.c            puts the command together and passes its answer on
 * dashboard_session.c  begins, shows and ends sessions
 * dashboard_export.c   streams the audit log
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_REQUEST_H
#define SERVICES_DASHBOARD_DASHBOARD_REQUEST_H

#include <h2o.h>
#include <stdbool.h>

#include "common/base/str.h"
#include "common/crypto/crypto.h"
#include "common/http/edge_request.h"
#include "proto/outcome.h"
#include "services/dashboard/backend.h"
#include "services/dashboard/dashboard.h"
#include "services/dashboard/dashboard_export.h"
#include "services/dashboard/dashboard_session.h"

#define DASHBOARD_REQUESTS_MAX 2048 /* at a time */

struct dashboard_request {
    struct edge_request http; /* first: the two are one */
    struct request_headers headers;
    struct action_match match;
    struct str query; /* what follows the question mark, or STR_NONE */
    struct str token; /* the session's, or STR_NONE */
    char token_hash[2 * SHA256_BYTES + 1];
    struct str token_body; /* see dashboard_token_body(); STR_NONE: not written yet */
    struct share *session_share, *organization_share; /* it counts there; NULL: not yet */
    struct door_place place;                          /* of a request with a password */
    struct identity who;
    call_fn on_end; /* of the call that is under way; NULL: none is */
    struct bus_message *reply;
    const char *cookie; /* a Set-Cookie for the answer */
    json_t *view;       /* of the session, for the pages */
    struct dashboard_export *export;
    struct deployment_waiter services; /* of a request for the state of the services */
};

/* The loop that the request came to. */
struct dashboard *dashboard_of(const struct dashboard_request *request);

/* The handler of all requests. */
int dashboard_request_begin(h2o_handler_t *handler, h2o_req_t *req);

/* The body of a command about the session of the request, {token_hash}. It is written once: an
   export asks for it before each step, however many there are. */
struct str dashboard_token_body(struct dashboard_request *request);
/* Asks for the session's user; on_end is to call dashboard_request_learn(). False: it cannot be
   asked now. */
MUST_CHECK bool dashboard_request_check(struct dashboard_request *request, call_fn on_end);
/* OUTCOME_OK: it is in use who may, in request->who. */
enum outcome dashboard_request_learn(struct dashboard_request *request, enum call_end end,
                                     struct bus_message *message);

/* A list of webhook endpoints as members see it: of each URL scheme and host, as path and query can
   hold a secret. Pure; the text is for free(). NULL: what the service sent is no list of objects. */
char *endpoints_without_paths(struct str list);

#endif

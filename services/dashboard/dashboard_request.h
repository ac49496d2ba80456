/*
 * dashboard_request - one HTTP request, from its headers to its response.
 *
 *     a path of a page or a file   the shell or the file, at once
 *     /data/...                    check that it is from our own pages, which user sent it (access
 *                                  is asked for each request), and the user's role; then send one
 *                                  command, or a stream of them
 *
 * What     No service is called before the request is known to come from one of our own pages: for
 *          all methods but GET, Origin, X-CSRF-Token and Content-Type are checked. Except for a
 *          sign-in, the first call finds the user of the session; no other call is made before
 *          that. All calls stay within the shares of the session and the organization (door.h), and
 *          share one deadline; in a stream, the calls of each part do.
 * Owns     Itself, as an edge_request does (common/http/edge_request.h).
 * Threads  The loop's.
 * Threads  The loop's.
 *
 * dashboard_request.c  begins and ends requests, and checks the user
 * backend.c            builds the command and passes on its reply
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
    struct edge_request http; /* must be the first member */
    struct request_headers headers;
    struct action_match match;
    struct str query; /* the part after the question mark, or STR_NONE */
    struct str token; /* the session's, or STR_NONE */
    char token_hash[2 * SHA256_BYTES + 1];
    struct str token_body; /* see dashboard_token_body(); STR_NONE: not written yet */
    /* that count this request, or NULL */
    struct share *session_share, *organization_share, *change_share;
    struct door_place place; /* of a request with a password */
    struct identity who;
    call_fn on_end; /* of the call in flight; NULL: there is none */
    struct bus_message *reply;
    const char *cookie; /* a Set-Cookie for the response */
    json_t *view;       /* the session, as the pages see it */
    struct dashboard_export *export;
    struct deployment_waiter services; /* of a request for the state of the services */
};

/* The loop that received the request. */
struct dashboard *dashboard_of(const struct dashboard_request *request);

/* Handles every request. */
int dashboard_request_begin(h2o_handler_t *handler, h2o_req_t *req);

/* The body of a command about the request's session, {token_hash}. It is written once: an export
   needs it before every step, however many there are. */
struct str dashboard_token_body(struct dashboard_request *request);
/* Asks access for the session's user; on_end must call dashboard_request_learn(). False: access
   cannot be asked now. */
MUST_CHECK bool dashboard_request_check(struct dashboard_request *request, call_fn on_end);
/* OUTCOME_OK: the user is in request->who and has the role that the action needs. */
enum outcome dashboard_request_learn(struct dashboard_request *request, enum call_end end,
                                     struct bus_message *message);

/* A list of webhook endpoints as members see it: each URL is cut to scheme and host, as path and
   query can hold a secret. Pure; the caller must free() the text. NULL: the service's reply is not
   a list of objects. */
char *endpoints_without_paths(struct str list);

#endif

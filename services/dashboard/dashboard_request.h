/*
 * dashboard_request - a request while it is handled, and the checks before a service is asked.
 *
 * What     No service is called before the request is known to come from one of our own pages: for
 *          all methods but GET, Origin, X-CSRF-Token and Content-Type are checked. Except for a
 *          sign-in, the first call finds the user of the session; no other call is made before
 *          that. All calls stay within the shares of the session and the organization (door.h), and
 *          share one deadline; in a stream, the calls of each part do.
 * Owns     All that it points to, until the request ends (dashboard_handler.c).
 * Threads  The loop's.
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_REQUEST_H
#define SERVICES_DASHBOARD_DASHBOARD_REQUEST_H

#include <stdbool.h>

#include "common/base/str.h"
#include "common/crypto/crypto.h"
#include "common/http/edge_request.h"
#include "proto/outcome.h"
#include "services/dashboard/action.h"
#include "services/dashboard/dashboard.h"
#include "services/dashboard/identity.h"

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

/* Reads the session's token. OUTCOME_OK: access may be asked for the session's user or, for a
   sign-in, a session may start. */
enum outcome dashboard_request_judge(struct dashboard_request *request);
/* Enters the share of the session, before access is asked for its user. False: a 429 has been
   sent. */
MUST_CHECK bool dashboard_request_enter_session(struct dashboard_request *request);
/* The same for the organization, once it is known, and for its changes if this is one. */
MUST_CHECK bool dashboard_request_enter_organization(struct dashboard_request *request);

#endif

/*
 * dashboard_session - the session of a request: it is checked, shown, begun and ended.
 *
 * What     Access is asked for the session's user on each request, so that losing a role or ending
 *          a session takes effect at once.
 * Owns     Nothing; what it learns belongs to the request.
 * Threads  The loop's.
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_SESSION_H
#define SERVICES_DASHBOARD_DASHBOARD_SESSION_H

#include "common/base/status.h"
#include "common/base/str.h"
#include "common/http/calls.h"
#include "proto/outcome.h"

struct dashboard_request;

/* -- checking -------------------------------------------------------------------------------- */

/* The body of a command about the request's session, {token_hash}. It is written once: an export
   needs it before every step, however many there are. */
struct str dashboard_token_body(struct dashboard_request *request);
/* Asks access for the session's user; on_end must call dashboard_session_learn(). False: access
   cannot be asked now. */
MUST_CHECK bool dashboard_session_check(struct dashboard_request *request, call_fn on_end);
/* OUTCOME_OK: the user is in request->who and has the role that the action needs. */
enum outcome dashboard_session_learn(struct dashboard_request *request, enum call_end end,
                                     struct bus_message *message);

/* -- beginning and end ----------------------------------------------------------------------- */

/* Each responds to the request, now or once a service has replied. */
void dashboard_sign_in(struct dashboard_request *request);
void dashboard_show_session(struct dashboard_request *request);
/* The same without a session, as a 200: asking who is signed in is not an error. */
void dashboard_show_nobody(struct dashboard_request *request);
void dashboard_sign_out(struct dashboard_request *request);

#endif

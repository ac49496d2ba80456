/*
 * backend - the commands that requests for data become, and what their replies become.
 *
 * What     Every call of an action ends with an outcome and, if a service replied, its body.
 * Owns     Nothing. The reply belongs to the request.
 * Threads  The loop's.
 */
#ifndef SERVICES_DASHBOARD_BACKEND_H
#define SERVICES_DASHBOARD_BACKEND_H

#include <stdbool.h>

#include "common/base/str.h"
#include "common/http/calls.h"
#include "common/json/json.h"
#include "proto/outcome.h"

struct dashboard_request;

/* Sends the action's command with its body; if that is impossible, responds with the reason. */
void backend_call_action(struct dashboard_request *request, call_fn on_end);
/* Sends a command on the dashboard's own behalf. False: it cannot be sent now. */
MUST_CHECK bool backend_call(struct dashboard_request *request, const char *subject,
                             struct str body, call_fn on_end);
/* Ends the call in flight as one that is late. False: there is none. */
bool backend_give_up(struct dashboard_request *request);
/* The body of the action's command. NULL: a response has been sent. */
MUST_CHECK json_t *backend_body(struct dashboard_request *request);
/* The outcome of a call; keeps the message. *body is STR_NONE unless a service replied. */
enum outcome backend_outcome(struct dashboard_request *request, enum call_end end,
                             struct bus_message *message, struct str *body);
/* Responds with the service's reply; of a list of endpoints, with what this user may see. */
void backend_pass_on(struct dashboard_request *request, enum outcome outcome, struct str body);

/* A list of webhook endpoints as members see it: each URL is cut to scheme and host, as path and
   query can hold a secret. Pure; the caller must free() the text. NULL: the service's reply is not
   a list of objects. */
char *endpoints_without_paths(struct str list);

#endif

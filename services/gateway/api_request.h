/*
 * api_request - one HTTP request of the API, from its headers to its response.
 *
 *     stage         what happens                                        moves to
 *     AUTHENTICATE  find the key: in the cache, else by a lookup        QUOTA, RESPONDED
 *     QUOTA         take one from the key's quota, or one of its        CHECK, RECORD, DROPPED
 *                   refusals; else wait for a lease, or for the
 *                   window's end
 *     CHECK         the order of checks (api_auth.h)                    COMMAND, RECORD
 *     COMMAND       one command on the bus, wait for its reply          RECORD, RESPONDED
 *     RECORD        append an audit entry that no service has written,  RESPONDED
 *                   wait for its commit
 *     RESPONDED     exactly one response was sent
 *     DROPPED       its connection was ended without a response
 *
 * What     A request enters each stage at most once and makes no other moves. Without a key the
 *          organization is unknown, so a failure in AUTHENTICATE is not recorded. The response to
 *          an authenticated request leaves only after its audit entry is committed. If the entry
 *          cannot be committed, a 500 stays a 500 and any other response becomes a 503; the case is
 *          counted and logged with the request id. A request beyond what its key may be answered in
 *          a window gets no response before the window ends, and none at all if its own time ends
 *          first or too many wait already.
 *          If a stage finds the bus silent, which may only mean that this process got no CPU time,
 *          it is parked and runs again as soon as the bus is known to be up or down, within 75 ms.
 *          All stages share the time of an edge_request (edge_request_limit()): a request that is
 *          undecided when the time for the command is over has failed, and RECORD gets the rest, at
 *          least half a second.
 * Owns     Itself, as an edge_request does (common/http/edge_request.h).
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_API_REQUEST_H
#define SERVICES_GATEWAY_API_REQUEST_H

#include "common/http/edge_request.h"
#include "proto/outcome.h"
#include "services/gateway/api_route.h"
#include "services/gateway/gateway.h"
#include "services/gateway/quota.h"
#include "services/gateway/wait_list.h"

struct key;

enum stage {
    STAGE_AUTHENTICATE,
    STAGE_QUOTA,
    STAGE_CHECK,
    STAGE_COMMAND,
    STAGE_RECORD,
    STAGE_RESPONDED,
    STAGE_DROPPED
};

struct api_request {
    struct edge_request http; /* must be the first member */
    struct gateway *gateway;
    enum stage stage;
    struct api_route route;
    bool accepts_json;
    const char *media_error; /* of the body's form; NULL: none */

    struct key *key; /* held; NULL until the Authorization header is read */
    struct wait_entry wait_entry;
    bool is_late; /* the rest of its time is reserved for its audit entry */
    bool has_view, is_over_limit, is_postponed;
    struct quota_view view;

    enum outcome outcome;
    struct str body;      /* of the response, or STR_NONE: the gateway writes it */
    const char *message;  /* for that body; NULL: the outcome's message */
    unsigned retry_after; /* seconds; 0 = the outcome's own */
    struct bus_message *reply;
};

/* Handles every request. */
int api_request_begin(h2o_handler_t *handler, h2o_req_t *req);

/* Enters a stage and runs it. No other function changes `stage`. */
void api_request_move(struct api_request *request, enum stage stage);
/* The same, and sets what the response will be. */
void api_request_end(struct api_request *request, enum outcome outcome, struct str body,
                     enum stage stage);
/* Ends a request that has no accepted key: it is not recorded. */
void api_request_refuse(struct api_request *request, enum outcome outcome);
/* True: the stage runs again once the bus is known to be up or down. */
MUST_CHECK bool api_request_park(struct api_request *request);

/* The framing was faulty, so nothing else in the request can be trusted. */
bool api_request_is_unsound(const struct api_request *request);

/* -- the stage AUTHENTICATE: api_authenticate.c ---------------------------------------------- */

/* Begins with the Authorization header. A lookup of a key that was valid lately is never refused;
   others are, for clients that fail too often, and while too many keys turn out to be made up. */
void api_authenticate_begin(struct api_request *request, const struct request_header *header);
void api_authenticate_run(struct api_request *request);
void api_authenticate_late(struct api_request *request);

/* -- the stages QUOTA and DROPPED: api_quota.c ----------------------------------------------- */

void api_quota_run(struct api_request *request);
void api_quota_late(struct api_request *request);
void api_quota_drop(struct api_request *request);
/* Call when the request ends: it no longer waits for the window's end. */
void api_quota_leave(struct api_request *request);

/* -- the stages that call services: api_command.c -------------------------------------------- */

/* COMMAND, and RECORD, which appends an entry to the audit log. The run functions are called when
   the stage is entered and again after it was parked; the request moves on when the reply arrives.
   The late functions give up the reply: a command that was sent may have been carried out. */
void api_command_run(struct api_request *request);
void api_command_late(struct api_request *request);

void api_command_record(struct api_request *request);
void api_command_record_late(struct api_request *request);

/* -- the stage RESPONDED: api_response.c ----------------------------------------------------- */

/* Sends the response; every byte that leaves the API passes here. Every response is JSON and
   carries X-Service-Request-Id and Cache-Control: no-store. One that is not a success is an
   `error.list` (common/http/response.h). Counts and logs it. */
void api_response_run(struct api_request *request);

#endif

/*
 * api_request - one HTTP request of the API, from its headers to its response.
 *
 *     stage         what happens                                        moves to
 *     AUTHENTICATE  find the key: in the cache, else by a look-up       QUOTA, RESPONDED
 *     QUOTA         take one from the key's quota, else wait for a      CHECK, RECORD
 *                   lease
 *     CHECK         the order of checks (api_auth.h)                    COMMAND, RECORD
 *     COMMAND       one command on the bus, wait for its reply          RECORD, RESPONDED
 *     RECORD        what no service has recorded: append the audit      RESPONDED
 *                   entry, wait for its commit
 *     RESPONDED     exactly one response was sent
 *
 * What     Each stage is entered once, and no other move is made. Without a key there is no
 *          organization, so what fails in AUTHENTICATE is not recorded. No response to an
 *          authenticated request leaves before its audit entry is committed. Where that cannot be,
 *          a 500 stays a 500 and everything else becomes a 503; it is counted and logged with the
 *          request id.
 *          A stage that finds the bus silent, which may only have been kept waiting for a
 *          processor, is parked and starts again when that is known, within 75 ms. All stages share
 *          the time of an edge_request (edge_request_limit()): a request not decided when the time
 *          of the command is over has failed, and RECORD has the rest, half a second at least.
 * Owns     Itself, as an edge_request does (common/http/edge_request.h).
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_API_REQUEST_H
#define SERVICES_GATEWAY_API_REQUEST_H

#include "common/http/edge_request.h"
#include "proto/outcome.h"
#include "services/gateway/api_route.h"
#include "services/gateway/gateway.h"
#include "services/gateway/key_lookup.h"

enum stage {
    STAGE_AUTHENTICATE,
    STAGE_QUOTA,
    STAGE_CHECK,
    STAGE_COMMAND,
    STAGE_RECORD,
    STAGE_RESPONDED
};

struct api_request {
    struct edge_request http; /* first: the two are one */
    struct gateway *gateway;
    enum stage stage;
    struct api_route route;
    bool accepts_json, sends_json;

    struct key *key; /* held; NULL before its authorization was read */
    struct wait_entry wait_entry;
    bool is_late; /* the rest of its time is for its entry in the audit log */
    bool has_view, is_over_limit;
    struct quota_view view;

    enum outcome outcome;
    struct str body;      /* of the response, or STR_NONE: the gateway's own words */
    const char *message;  /* these; NULL: those of the outcome */
    unsigned retry_after; /* seconds; 0 = as the outcome wants it */
    struct bus_message *reply;
};

/* The handler of all requests. */
int api_request_begin(h2o_handler_t *handler, h2o_req_t *req);

/* Enters a stage, and does what it is for; the one function that changes `stage`. */
void api_request_move(struct api_request *request, enum stage stage);
/* The same, with the answer for the end. */
void api_request_end(struct api_request *request, enum outcome outcome, struct str body,
                     enum stage stage);
/* True: the stage starts again when it is known whether the bus is there. */
MUST_CHECK bool api_request_park(struct api_request *request);

/* -- the stages that call services: api_command.c -------------------------------------------- */

/* COMMAND, and RECORD, which appends an entry to the audit log. A stage is run when it is entered
   and again when it was parked. It moves the request on when the reply is there. A late reply
   is given up: a command that was sent may have been carried out. */
void api_command_run(struct api_request *request);
void api_command_late(struct api_request *request);

void api_command_record(struct api_request *request);
void api_command_record_late(struct api_request *request);

#endif

/*
 * api_request - one HTTP request until its response.
 *
 *     AUTHENTICATE  who asks: key cache, else wait for a look-up
 *     QUOTA         take one from the key's quota, else wait for a lease
 *     CHECK         the order of checks; a refusal goes to RECORD
 *     COMMAND       one command on the bus, wait for its reply
 *     RECORD        what no service has recorded: append the audit entry, wait for its commit
 *     RESPONDED     exactly one response was sent
 *
 * What     No response to an authenticated request leaves before its audit entry is committed.
 *          Where that cannot be, a 500 stays a 500 and everything else becomes a 503; it is counted
 *          and logged with the request id. All stages share the time of an edge_request
 *          (edge_request_limit()): what is not decided when that of the command is over is a
 *          failure, and RECORD has the rest, half a second at least.
 * Owns     Itself, as an edge_request does (common/http/edge_request.h).
 * Threads  The gateway's loop.
 *
 * api_request.c  begins and ends
 * api_auth.c     authenticates, counts against the quota, checks
 */
#ifndef SERVICES_GATEWAY_API_REQUEST_H
#define SERVICES_GATEWAY_API_REQUEST_H

#include <h2o.h>

#include "common/base/str.h"
#include "common/http/edge_request.h"
#include "proto/outcome.h"
#include "services/gateway/api_auth.h"
#include "services/gateway/api_response.h"
#include "services/gateway/api_route.h"
#include "services/gateway/gateway.h"
#include "services/gateway/key_lookup.h"

/*
 * api_headers - what the gateway reads of a request's headers, in one pass.
 *
 * Owns     Nothing; slices point into the request.
 * Threads  The gateway's loop.
 */

#define API_HEADERS_MAX 100 /* as many headers as h2o takes */

struct api_headers {
    struct str authorization;
    size_t n_authorization;
    struct str content_type;
    size_t n_content_type;
    struct str accept[API_HEADERS_MAX];
    size_t n_accept;
    struct str forwarded_for[API_HEADERS_MAX];
    size_t n_forwarded_for;
    struct str forwarded_proto; /* the last one */
    struct str traceparent;     /* STR_NONE unless it came once */
    size_t n_traceparent;
};

void api_headers_read(const h2o_req_t *req, struct api_headers *headers);

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

    struct key *key; /* held; NULL before AUTHENTICATE */
    struct wait_entry wait_entry;
    bool is_late; /* no time is left but for its entry in the audit log */
    bool has_view;
    struct quota_view view;

    enum outcome outcome;
    struct str body; /* of the response, or STR_NONE: the gateway's own words */
    struct bus_message *reply;
};

/* The handler of all requests. */
int api_request_begin(h2o_handler_t *handler, h2o_req_t *req);

/* From here on for these three files only. */
void api_request_authenticate(struct api_request *request, const struct api_headers *headers);
/* the key, the lease or the bus is there, or not */
void api_request_resume(struct wait_entry *entry);
void api_request_command(struct api_request *request);
void api_request_give_up_command(struct api_request *request);
void api_request_record(struct api_request *request);
void api_request_give_up_record(struct api_request *request);
/* True: the bus may only have been kept waiting for a processor. The stage starts again when that
   is known, within 75 ms. */
MUST_CHECK bool api_request_park(struct api_request *request);
void api_request_respond(struct api_request *request); /* with outcome and body */
/* Without a key there is no organization, so there is no entry in the audit log. */
void api_request_respond_unaudited(struct api_request *request, enum outcome outcome,
                                   unsigned retry_after);

#endif

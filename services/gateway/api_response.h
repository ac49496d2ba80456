/*
 * api_response - writes responses; every byte that leaves the API passes here.
 *
 * What     Every response is JSON and carries X-Service-Request-Id and Cache-Control: no-store. A
 *          response that is not a success is an `error.list` (common/http/response.h).
 * Owns     Nothing. The texts must live as long as the request.
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_API_RESPONSE_H
#define SERVICES_GATEWAY_API_RESPONSE_H

#include "common/http/response.h"
#include "proto/outcome.h"
#include "services/gateway/quota.h"

struct api_response {
    int status;
    struct str body;               /* a resource, or the array "errors" of an error.list */
    const struct quota_view *view; /* NULL: no rate-limit headers */
    const char *allow;             /* 405 */
    unsigned retry_after;          /* seconds; 0 = no header */
    bool replayed;
    struct str created; /* 201: the id of the new conversation, or STR_NONE */
};

void api_response_send(struct edge_request *http, const struct api_response *response);

/* The message for an outcome that the gateway decides. */
const char *api_response_message(enum outcome outcome);

#endif

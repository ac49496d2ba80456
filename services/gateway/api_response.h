/*
 * api_response - writes responses; every byte that leaves the API passes here.
 *
 * What     Every response is JSON and carries X-Service-Request-Id and Cache-Control: no-store. One
 *          that is no success is an `error.list`.
 * Owns     Nothing. The texts must live as long as the request.
 * Threads  The gateway's loop.
 */
#ifndef GATEWAY_API_RESPONSE_H
#define GATEWAY_API_RESPONSE_H

#include <h2o.h>

#include "common/base/str.h"
#include "proto/outcome.h"
#include "services/gateway/quota.h"

struct api_response {
    int status;
    const char *request_id;
    struct str body;               /* a resource, or what stands under "errors" */
    const struct quota_view *view; /* NULL: no rate-limit headers */
    const char *allow;             /* 405 */
    unsigned retry_after;          /* seconds; 0 = no header */
    bool replayed;
};

void api_response_send(h2o_req_t *req, const struct api_response *response);

/* What stands under "errors" when the gateway itself refuses or fails. */
struct str api_response_error(h2o_mem_pool_t *pool, const char *code, const char *message);
/* The sentence for an outcome that the gateway decides. */
const char *api_response_message(enum outcome outcome);

#endif

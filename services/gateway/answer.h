/*
 * answer - writes responses; every byte that leaves the API passes here.
 *
 * What     Every answer is JSON and carries X-Service-Request-Id and Cache-Control: no-store. One
 *          that is no success is an `error.list`.
 * Owns     Nothing. The texts must live as long as the request.
 * Threads  The gateway's loop.
 */
#ifndef GATEWAY_ANSWER_H
#define GATEWAY_ANSWER_H

#include <h2o.h>

#include "common/base/str.h"
#include "proto/outcome.h"
#include "services/gateway/quota.h"

struct answer {
    int status;
    const char *request_id;
    struct str body;               /* a resource, or what stands under "errors" */
    const struct quota_view *view; /* NULL: no rate-limit headers */
    const char *allow;             /* 405 */
    unsigned retry_after;          /* seconds; 0 = no header */
    bool replayed;
};

void answer_send(h2o_req_t *req, const struct answer *answer);

/* What stands under "errors" when the gateway itself refuses or fails. */
struct str answer_problem(h2o_mem_pool_t *pool, const char *code, const char *message);
/* The sentence for an outcome that the gateway decides. */
const char *answer_message(enum outcome outcome);

#endif

/*
 * head - what the gateway reads of a request's headers, in one pass.
 *
 * Owns     Nothing; slices point into the request.
 * Threads  The gateway's loop.
 */
#ifndef GATEWAY_HEAD_H
#define GATEWAY_HEAD_H

#include <h2o.h>

#include "common/base/str.h"

#define HEAD_LINES_MOST 100 /* as many headers as h2o takes */

struct head {
    struct str authorization;
    size_t n_authorization;
    struct str content_type;
    size_t n_content_type;
    struct str accept[HEAD_LINES_MOST];
    size_t n_accept;
    struct str forwarded_for[HEAD_LINES_MOST];
    size_t n_forwarded_for;
    struct str forwarded_proto; /* the last line */
    struct str traceparent;     /* STR_NONE unless it came once */
    size_t n_traceparent;
};

void head_read(const h2o_req_t *req, struct head *head);

#endif

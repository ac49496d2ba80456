/*
 * api_headers - what the gateway reads of a request's headers, in one pass.
 *
 * Owns     Nothing; slices point into the request.
 * Threads  The gateway's loop.
 */
#ifndef GATEWAY_API_HEADERS_H
#define GATEWAY_API_HEADERS_H

#include <h2o.h>

#include "common/base/str.h"

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

#endif

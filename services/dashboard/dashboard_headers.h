/*
 * dashboard_headers - what the dashboard reads of a request's headers, in one pass.
 *
 * Owns     Nothing; slices point into the request.
 * Threads  The loop's.
 */
#ifndef DASHBOARD_HEADERS_H
#define DASHBOARD_HEADERS_H

#include <h2o.h>

#include "common/base/str.h"

#define DASHBOARD_HEADERS_MAX 100 /* as many headers as h2o takes */

/* A header that is to come once, if at all. */
struct dashboard_header {
    struct str value; /* the last one, or STR_NONE */
    size_t n;
};

struct dashboard_headers {
    struct dashboard_header content_type, origin, csrf, fetch_site, user_agent;
    struct dashboard_header traceparent, accept_encoding, if_none_match, forwarded_proto;
    struct str cookies[DASHBOARD_HEADERS_MAX];
    size_t n_cookies;
    struct str forwarded_for[DASHBOARD_HEADERS_MAX];
    size_t n_forwarded_for;
};

void dashboard_headers_read(const h2o_req_t *req, struct dashboard_headers *headers);

#endif

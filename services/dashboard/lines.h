/*
 * lines - what the dashboard reads of a request's headers, in one pass.
 *
 * Owns     Nothing; slices point into the request.
 * Threads  The loop's.
 */
#ifndef DASHBOARD_LINES_H
#define DASHBOARD_LINES_H

#include <h2o.h>

#include "common/base/str.h"

#define LINES_MOST 100 /* as many headers as h2o takes */

/* A header that is to come once, if at all. */
struct line {
    struct str value; /* the last one, or STR_NONE */
    size_t n;
};

struct lines {
    struct line content_type, origin, csrf, fetch_site, user_agent;
    struct line traceparent, accept_encoding, if_none_match, forwarded_proto;
    struct str cookies[LINES_MOST];
    size_t n_cookies;
    struct str forwarded_for[LINES_MOST];
    size_t n_forwarded_for;
};

void lines_read(const h2o_req_t *req, struct lines *lines);

#endif

/*
 * request_headers - reads the headers that our programs use in one pass, and the media types that a
 *                   client accepts and sends.
 *
 * What     For a header that may come only once: its last line, and how many came. For one that may
 *          be a list: all its lines, in the order of the request. All other headers are ignored.
 * Owns     Nothing; slices point into the request.
 * Threads  Any; pure.
 */
#ifndef COMMON_HTTP_REQUEST_HEADERS_H
#define COMMON_HTTP_REQUEST_HEADERS_H

#include <h2o.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/str.h"

#define REQUEST_HEADERS_MAX 100 /* h2o accepts no more */

struct request_header {
    struct str value; /* the last one, or STR_NONE */
    size_t n;
};

struct request_header_lines {
    struct str at[REQUEST_HEADERS_MAX];
    size_t n;
};

struct request_headers {
    struct request_header authorization, content_type, content_encoding, user_agent;
    struct request_header accept_encoding, if_none_match;
    struct request_header origin, csrf_token, fetch_site;
    struct request_header forwarded_proto, traceparent;
    struct request_header_lines accept, cookie, forwarded_for;
};

/* Sets all of *out. */
void request_headers_read(const h2o_headers_t *headers, struct request_headers *out);

/* STR_NONE unless it came exactly once. */
struct str request_header_once(const struct request_header *header);

/* -- media types ------------------------------------------------------------------------------- */

/* Whether the `n` Accept headers accept application/json: without any, everything is accepted, and
   of several matching ranges the most specific decides. */
bool media_accepts_json(const struct str *values, size_t n);

/* What is wrong with the form of a body, by the headers, as a sentence for the client; NULL: it is
   JSON in UTF-8 that is not compressed. Without a charset it is UTF-8; other parameters are
   ignored. */
const char *media_body_error(const struct request_headers *headers);

#endif

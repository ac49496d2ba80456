/*
 * api_route - finds the operation that a request asks for.
 *
 * What     Works on the raw bytes of the target: nothing is decoded or normalized, so each resource
 *          has exactly one spelling.
 * Owns     Nothing; slices point into the target.
 * Threads  Any; pure.
 */
#ifndef SERVICES_GATEWAY_API_ROUTE_H
#define SERVICES_GATEWAY_API_ROUTE_H

#include <stdbool.h>

#include "common/base/str.h"
#include "proto/outcome.h"

/* The id as sent to a service: a longer one is cut to this length, which makes it invalid. */
#define API_ROUTE_RESOURCE_MAX 64

enum api_route_end {
    API_ROUTE_OUTSIDE,   /* not under /api/v1 */
    API_ROUTE_UNKNOWN,   /* no such path */
    API_ROUTE_NO_METHOD, /* no such method on this path */
    API_ROUTE_FOUND,
};

struct api_route {
    enum api_route_end end;
    enum operation operation; /* OP_UNKNOWN unless the end is FOUND; OP_NONE outside */
    const char *subject;      /* FOUND: the command; NULL = the gateway answers itself */
    bool writes;              /* needs scope full */
    bool has_body;            /* takes a JSON body */
    bool takes_query;         /* the service gets the query string */
    const char *allow;        /* NO_METHOD: the value of the Allow header */
    struct str resource_id;   /* the id in the path, or STR_NONE */
    struct str query;         /* the part after the question mark, or STR_NONE */
};

struct api_route api_route_find(struct str method, struct str target);

#endif

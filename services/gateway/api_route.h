/*
 * api_route - which operation a request is for.
 *
 * What     Works on the raw bytes of the target: nothing is decoded or normalized, so no two
 *          spellings lead to one place.
 * Owns     Nothing; slices point into the target.
 * Threads  Any; pure.
 */
#ifndef SERVICES_GATEWAY_API_ROUTE_H
#define SERVICES_GATEWAY_API_ROUTE_H

#include <stdbool.h>

#include "common/base/str.h"
#include "proto/outcome.h"

/* The id as it is sent to a service: an overlong one is cut, and so is invalid. */
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
    const char *subject;      /* FOUND: the command; NULL = the gateway answers by itself */
    bool writes;              /* needs scope full */
    bool has_body;            /* takes a JSON body */
    bool takes_query;         /* the service is handed the query string */
    const char *allow;        /* NO_METHOD: what Allow lists */
    struct str resource_id;   /* the id in the path, or STR_NONE */
    struct str query;         /* what follows the question mark, or STR_NONE */
};

struct api_route api_route_find(struct str method, struct str target);

#endif

/*
 * route - which operation a request is for.
 *
 * What     Works on the raw bytes of the target: nothing is decoded or normalized, so no two
 *          spellings lead to one place.
 * Owns     Nothing; slices point into the target.
 * Threads  Any; pure.
 */
#ifndef GATEWAY_ROUTE_H
#define GATEWAY_ROUTE_H

#include <stdbool.h>

#include "common/base/str.h"
#include "proto/operation.h"

/* What a service is told of an id: of one that is longer than any, the front, which is none. */
#define ROUTE_RESOURCE_MOST 64

enum route_end {
    ROUTE_OUTSIDE,   /* not under /api/v1 */
    ROUTE_UNKNOWN,   /* no such path */
    ROUTE_NO_METHOD, /* no such method on this path */
    ROUTE_FOUND,
};

struct route {
    enum route_end end;
    enum operation operation; /* OP_UNKNOWN unless the end is FOUND; OP_NONE outside */
    const char *subject;      /* FOUND: the command; NULL = the gateway answers by itself */
    bool writes;              /* needs scope full */
    bool has_body;            /* takes a JSON body */
    bool takes_query;         /* the service is handed the query string */
    const char *allow;        /* NO_METHOD: what Allow lists */
    struct str resource_id;   /* the id in the path, or STR_NONE */
    struct str query;         /* what follows the question mark, or STR_NONE */
};

struct route route_find(struct str method, struct str target);

#endif

/*
 * dashboard_response - writes responses; every byte that leaves the dashboard passes here.
 *
 * What     Every response has the headers that stop other sites from framing, sniffing, embedding
 *          or scripting the pages. Data is JSON and is never cached; a failure is an `error.list`,
 *          as in the API.
 * Owns     Nothing. The texts must live as long as the request.
 * Threads  The loop's.
 */
#ifndef SERVICES_DASHBOARD_DASHBOARD_RESPONSE_H
#define SERVICES_DASHBOARD_DASHBOARD_RESPONSE_H

#include "common/http/edge_request.h"
#include "proto/outcome.h"
#include "services/dashboard/asset.h"

struct dashboard_response {
    int status;
    struct str body;    /* a resource, or the array "errors" of an error.list */
    const char *allow;  /* 405 */
    const char *cookie; /* a Set-Cookie */
    struct str retry_after;
    bool forgets; /* tells the browser to clear its data of this site */
};

void dashboard_response_send(struct edge_request *http, const struct dashboard_response *response);
/* 200 with JSON; frees `text`. `cookie` may be NULL. */
void dashboard_response_text(struct edge_request *http, char *text, const char *cookie);

/* With `message`, a literal, or the outcome's message if that is NULL. */
void dashboard_response_refusal(struct edge_request *http, enum outcome outcome,
                                const char *message);
/* The same, and names the field at fault: letters, digits and underscores only. */
void dashboard_response_invalid(struct edge_request *http, const char *field, const char *message);
void dashboard_response_no_method(struct edge_request *http, const char *allow);
/* 429 with this many seconds in Retry-After. */
void dashboard_response_too_many(struct edge_request *http, unsigned wait_s);
void dashboard_response_fault(struct edge_request *http);

/* A file, or 304. */
void dashboard_response_asset(struct edge_request *http, const struct asset *asset,
                              struct str accept_encoding, struct str if_none_match);

/* Starts a stream that the browser saves as a file; the caller sends it with h2o_send(). */
void dashboard_response_stream(struct edge_request *http, const char *type, const char *file,
                               h2o_generator_t *generator);

#endif

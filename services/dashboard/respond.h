/*
 * respond - writes responses; every byte that leaves the dashboard passes here.
 *
 * What     Every response has the headers that keep its pages from being framed, sniffed, embedded
 *          or scripted by others. Data is JSON and is never stored; what is no success is an
 *          `error.list`, as in the API.
 * Owns     Nothing. The texts must live as long as the request.
 * Threads  The loop's.
 */
#ifndef DASHBOARD_RESPOND_H
#define DASHBOARD_RESPOND_H

#include "common/edge/visit.h"
#include "proto/outcome.h"
#include "services/dashboard/asset.h"

struct response {
    int status;
    struct str body;    /* a resource, or what stands under "errors" */
    const char *allow;  /* 405 */
    const char *cookie; /* a Set-Cookie */
    struct str retry_after;
    bool forgets; /* the browser is to forget what it has of us */
};

void respond(struct visit *visit, const struct response *response);

/* With the dashboard's own words for the outcome, or `message`, a literal, if that is not NULL. */
void respond_refusal(struct visit *visit, enum outcome outcome, const char *message);
/* As well, naming the field at fault: letters, digits and underscores only. */
void respond_invalid(struct visit *visit, const char *field, const char *message);
void respond_no_method(struct visit *visit, const char *allow);
void respond_fault(struct visit *visit);

/* A file, or 304. */
void respond_asset(struct visit *visit, const struct asset *asset, struct str accept_encoding,
                   struct str if_none_match);

/* The beginning of a stream that the browser saves as a file; h2o_send() is the caller's. */
void respond_stream(struct visit *visit, const char *type, const char *file,
                    h2o_generator_t *generator);

#endif

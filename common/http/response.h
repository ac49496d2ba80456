/*
 * response - how a response of our HTTP programs is put together, sent, logged and counted.
 *
 * What     Begin, add what the program has to add, send. A body that goes with a status from 400 on
 *          is what stands under "errors" of an `error.list`, the same in the API and in the
 *          dashboard. The response to a HEAD has no body.
 * Owns     Nothing; all texts must live as long as the request.
 * Threads  The loop's, where nothing else is said.
 * Fails    Never: a client that is gone, or does not read, ends the request (edge_request.h).
 */
#ifndef COMMON_HTTP_RESPONSE_H
#define COMMON_HTTP_RESPONSE_H

#include "common/base/log.h"
#include "common/http/edge_request.h"
#include "proto/outcome.h"

struct response_header {
    const char *name, *value; /* the name in lower case */
};

/* What all responses of a program have in common; constant. */
struct response_form {
    bool is_capitalized; /* Content-Type; else content-type */
    const struct response_header *always;
    size_t n_always;
};

/* Sets status, Content-Type (`type` NULL: none), Cache-Control, X-Service-Request-Id and what the
   form always has. */
void response_begin(struct edge_request *http, const struct response_form *form, int status,
                    const char *type, const char *caching);
/* `name` is a literal in lower case; `shown` is how it goes out, NULL: as it is. */
void response_add(struct edge_request *http, struct str name, const char *shown, struct str value);
void response_add_number(struct edge_request *http, struct str name, const char *shown,
                         uint64_t value);
/* A number in decimal, in the request's memory. */
struct str response_number(struct edge_request *http, uint64_t value);

/* What stands under "errors" when the program itself refuses or fails. `field` may be NULL. */
struct str response_error(struct edge_request *http, enum outcome outcome, const char *message,
                          const char *field);

/* Sends the response that was begun. Its body is JSON and ends in a line feed, so that a prompt does not
   stand behind it. */
void response_send(struct edge_request *http, struct str json);
/* The same with the bytes of a file, as they are. */
void response_send_file(struct edge_request *http, struct str bytes);
/* The beginning of a stream; h2o_send() is the caller's. */
void response_stream(struct edge_request *http, h2o_generator_t *generator);

#define RESPONSE_LOG_OWN_MAX 4

/* The line about a response in the log, with `n` fields of the program's own: failures are worth
   one, and where the log has all levels each response is. */
void response_log(const struct edge_request *http, int status, const struct log_field *own,
                  size_t n);

/* -- statuses -------------------------------------------------------------------------------- */

#define RESPONSE_STATUSES 16

/* The reason phrase of a status, of those that our programs answer with; an unknown one is a
   500. */
const char *reason_of(int status);

/* How many responses of one kind there were, by status. */
struct response_counts {
    struct metric *by_status[RESPONSE_STATUSES];
};

/* Call before threads start, with *counts zeroed. `labels`: those before the status, each with a
   comma behind it, or "". `never`: a status that the program does not answer with. */
void response_counts_open(struct response_counts *counts, const char *name, const char *labels,
                          int never);
/* Call for each response, from any thread. A status without a count is a 500. */
void response_counts_add(const struct response_counts *counts, int status);

#endif

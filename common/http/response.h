/*
 * response - builds, sends and logs the responses of our HTTP programs.
 *
 * What     Begin a response, add headers, send. With a status of 400 or more, the body passed to
 *          response_send() is the value of "errors" in an `error.list`, the same in the API and in
 *          the dashboard. The response to a HEAD has no body.
 * Owns     Nothing; all texts must live as long as the request.
 * Threads  The loop's, unless stated otherwise.
 * Fails    Never: if the client is gone or does not read, the request ends (edge_request.h).
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

/* Sets status, Content-Type (`type` NULL: none), Cache-Control, X-Service-Request-Id and the form's
   headers. */
void response_begin(struct edge_request *http, const struct response_form *form, int status,
                    const char *type, const char *caching);
/* `name` is a literal in lower case; `shown` is its spelling in the response, NULL: the same. */
void response_add(struct edge_request *http, struct str name, const char *shown, struct str value);
void response_add_number(struct edge_request *http, struct str name, const char *shown,
                         uint64_t value);
/* A number in decimal, in the request's memory. */
struct str response_number(struct edge_request *http, uint64_t value);

/* The value of "errors" when the program itself refuses or fails. `field` may be NULL. */
struct str response_error(struct edge_request *http, enum outcome outcome, const char *message,
                          const char *field);

/* Sends the response that was begun, with a JSON body. Adds a line feed, so that a shell prompt
   begins on a new line. */
void response_send(struct edge_request *http, struct str json);
/* The same with the bytes of a file, unchanged. */
void response_send_file(struct edge_request *http, struct str bytes);
/* Begins a stream; the caller calls h2o_send(). */
void response_stream(struct edge_request *http, h2o_generator_t *generator);

#define RESPONSE_LOG_OWN_MAX 4

/* Writes the log line about a response, with `n` fields of the program's own: for statuses of 500
   and more, and for every response if the options ask for it. */
void response_log(const struct edge_request *http, int status, const struct log_field *own,
                  size_t n);

#endif

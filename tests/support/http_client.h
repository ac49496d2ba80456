/*
 * http_client - one request over HTTP, as a client of the API sends it (libcurl).
 *
 * What     Every request opens its own connection. The parts that every response of the service
 *          must have (request id, no-store, JSON) are checked here, so that no test can forget
 *          them.
 * Owns     Responses live until the process ends: Criterion runs every test in its own process.
 * Threads  Any.
 * Fails    Fails the test, unless `may_fail` is set: then status 0 is "no answer".
 */
#ifndef TESTS_SUPPORT_HTTP_CLIENT_H
#define TESTS_SUPPORT_HTTP_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_request {
    const char *method;
    const char *base; /* NULL = BASE_URL of the stack; https is checked against its certificate */
    const char *from; /* the address to send from, such as 127.0.0.2; NULL = 127.0.0.1 */
    const char *path; /* "/ping?x=1", appended to the base */
    const char *key;  /* sent as a bearer token; NULL = no Authorization header */
    const char *body; /* NULL = none */
    size_t body_n;    /* 0 = strlen(body) */
    const char *const *headers; /* additional ones, NULL-terminated; a Content-Type replaces ours */
    int timeout_ms;             /* 0 = 30 s */
    bool may_fail;
    bool skip_checks; /* for responses that are not from our gateway */
};

struct client_response {
    int status; /* 0: none */
    char *head; /* header lines */
    char *body;
    size_t head_n, body_n;
    json_t *json; /* NULL if the body is not JSON */
    char request_id[37];
    char about[200]; /* method and path, for messages */
    int64_t took_us;
};

struct client_response *http_send(const struct client_request *request);

/* The value of a header, or NULL; a copy that lives as long as the response. */
const char *http_header(const struct client_response *response, const char *name);
int http_header_count(const struct client_response *response, const char *name);
long http_header_integer(const struct client_response *response,
                         const char *name); /* -1: not an integer */

#endif

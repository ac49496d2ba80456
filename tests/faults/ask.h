/*
 * ask - one request of the API, and its line in the history.
 *
 * What     Sends a request on a connection, opening it if it is closed, and parses the response.
 *          ask_note() writes both into the history, with the parts of the response that
 *          check_history checks.
 * Owns     `struct response` owns its body until ask_note() takes it.
 * Threads  Any; a connection belongs to one at a time.
 * Fails    Fails the test if a request cannot be made; any response, or none, is fine here.
 */
#ifndef TESTS_FAULTS_ASK_H
#define TESTS_FAULTS_ASK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/support/http_connection.h"

struct ask {
    struct http_connection *connection;
    int gateway;
    const char *key; /* NULL: none */
    const char *method, *path;
    const char *header; /* an additional one, instead of the Content-Type; or NULL */
    const char *body;   /* NULL: none */
    int timeout_ms;
};

struct response {
    bool was_sent, is_replay; /* is_replay: according to the header */
    int status;               /* 0: no response */
    int64_t begin_us, end_us;
    char request_id[37];
    json_t *body; /* NULL: none, or not JSON */
};

struct response ask(const struct ask *it);
/* The same in two steps, so that two requests can be in flight. */
struct response ask_begin(const struct ask *it);
void ask_end(const struct ask *it, struct response *response);
/* Ends several requests in flight, each when its own response arrives, in any order. */
enum { ASK_SEVERAL_MAX = 4 };
void ask_end_several(const struct ask *asked, struct response *responses, size_t n);

/* Writes the line of one request; takes over `args` and the response's body. */
void ask_note(const char *operation, int org, const struct ask *asked, struct response *response,
              json_t *args);
/* From now on `observer` gets each response instead, in the thread that asked. NULL: none. */
void ask_observe(void (*observer)(const struct response *response));

#endif

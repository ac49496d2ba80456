/*
 * ask - one request of the API, and its line in the history.
 *
 * What     Sends a request on a connection, which is opened where it is closed, and takes the response
 *          apart. ask_note() writes both into the history, with what of the response is checked
 *          (check_history).
 * Owns     `struct response` owns its body until ask_note() takes it.
 * Threads  Any; a connection belongs to one at a time.
 * Fails    Fails the test when a request cannot be made; any response, and none, is fine here.
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
    const char *header; /* one more, instead of the Content-Type; or NULL */
    const char *body;   /* NULL: none */
    int timeout_ms;
};

struct response {
    bool was_sent, is_replay; /* the latter as the header says */
    int status;               /* 0: no answer */
    int64_t begin_us, end_us;
    char request_id[37];
    json_t *body; /* NULL: none, or no JSON */
};

struct response ask(const struct ask *it);
/* The same in two steps, so that two are under way. */
struct response ask_begin(const struct ask *it);
void ask_end(const struct ask *it, struct response *response);
/* Several that are under way: each ends when its own answer comes, whichever is first. */
enum { ASK_SEVERAL_MAX = 4 };
void ask_end_several(const struct ask *asked, struct response *responses, size_t n);

/* The line of one request; takes over `args`, and the response's body. */
void ask_note(const char *operation, int org, const struct ask *asked, struct response *response,
              json_t *args);
/* From now on the function gets each response instead, in the thread that asked. NULL: none. */
void ask_observe(void (*observer)(const struct response *response));

#endif

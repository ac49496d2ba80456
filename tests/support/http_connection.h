/*
 * http_connection - requests as bytes over a connection that stays open: those that no HTTP library
 * would send, several at once, or thousands of them.
 *
 * What     Sends bytes as given and reads one response after the other. Each is written to the
 *          journal (journal.h) as one of the API's, unless the connection is private.
 * Owns     Close what you have opened. A response points into its connection and lives until the
 *          next one is received.
 * Threads  One thread per connection.
 * Fails    Returns false: the connection is unusable, and what was sent has no response.
 */
#ifndef TESTS_SUPPORT_HTTP_CONNECTION_H
#define TESTS_SUPPORT_HTTP_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

enum { HTTP_TIMEOUT_MS = 30000 };

struct http_connection {
    int fd;
    bool is_private; /* set it after opening: nothing is written to the journal */
    bool has_ended;  /* the other side closed */
    char *in;        /* what came: the latest response, and what follows it */
    size_t n, taken, capacity;
    char next; /* the byte that the NUL after the latest response has replaced */
};

struct connection_response {
    int status;
    const char *head; /* status line and headers; NUL-terminated, as the body is */
    const char *body;
    size_t body_n;
    char request_id[37];
    bool closes; /* Connection: close */
};

bool http_connection_open(struct http_connection *connection, int port);
/* One with a kernel buffer of next to nothing until it is read. */
bool http_connection_open_narrow(struct http_connection *connection, int port);
void http_connection_close(struct http_connection *connection);

/* True unless the other side has closed already. */
bool http_connection_send(struct http_connection *connection, const char *bytes, size_t n);
/* Sends no more, but goes on reading. */
void http_connection_end_sending(struct http_connection *connection);
/* One whole response, interim ones (1xx) included: by Content-Length, in chunks, or up to the end
   of the connection. False when it did not come in time; what has come is kept. */
bool http_connection_receive(struct http_connection *connection, struct connection_response *out,
                             int timeout_ms);
/* How many bytes have come that belong to no response yet. */
size_t http_connection_pending(const struct http_connection *connection);
/* True when the other side closes in time and sends nothing more. */
bool http_connection_ends(struct http_connection *connection, int timeout_ms);

/* The value of a header in `out`, or false. */
bool http_connection_header(const struct connection_response *response, const char *name, char *out,
                            size_t capacity);

#endif

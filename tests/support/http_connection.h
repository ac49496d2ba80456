/*
 * http_connection - requests as bytes over a connection that stays open: requests that no HTTP
 * library would send, several at once, or thousands of them.
 *
 * What     Sends bytes as given and reads one response after another. Each response is written to
 *          the journal (journal.h) as one of the API's, unless the connection is private.
 * Owns     Close every opened connection. A response points into its connection and lives until the
 *          next one is received.
 * Threads  One thread per connection.
 * Fails    Returns false: the connection is unusable, and the request sent has no response.
 */
#ifndef TESTS_SUPPORT_HTTP_CONNECTION_H
#define TESTS_SUPPORT_HTTP_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

enum { HTTP_TIMEOUT_MS = 30000 };

struct http_connection {
    int fd;
    bool is_private; /* set after opening: nothing is written to the journal */
    bool has_ended;  /* the other side closed */
    char *in;        /* received: the latest response and what follows it */
    size_t n, taken, capacity;
    char next; /* the byte that was replaced by the NUL after the latest response */
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
/* A connection with the smallest possible receive buffer, until it is read. */
bool http_connection_open_narrow(struct http_connection *connection, int port);
void http_connection_close(struct http_connection *connection);

/* False only if the other side has already closed. */
bool http_connection_send(struct http_connection *connection, const char *bytes, size_t n);
/* Sends no more, but keeps reading. */
void http_connection_end_sending(struct http_connection *connection);
/* Reads one whole response, including interim ones (1xx): by Content-Length, in chunks, or up to
   the end of the connection. False if it did not arrive in time; the part received is kept. */
bool http_connection_receive(struct http_connection *connection, struct connection_response *out,
                             int timeout_ms);
/* The number of bytes received that belong to no response yet. */
size_t http_connection_pending(const struct http_connection *connection);
/* True if the other side closes in time and sends nothing more. */
bool http_connection_ends(struct http_connection *connection, int timeout_ms);

/* The value of a header in `out`, or false. */
bool http_connection_header(const struct connection_response *response, const char *name, char *out,
                            size_t capacity);

#endif

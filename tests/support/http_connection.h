/*
 * http_connection - requests over connections that stay open, for tests that send thousands.
 *
 * What     Sends bytes as given, also several requests at once, and reads of each response
 *          only what such tests count. Writes nothing to the journal.
 * Owns     Close what you have opened. The body of a response points into the connection
 *          and lives until the next call.
 * Threads  One thread per connection.
 * Fails    Returns false: the connection is unusable, and what was sent has no response.
 */
#ifndef TESTS_SUPPORT_HTTP_CONNECTION_H
#define TESTS_SUPPORT_HTTP_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_CONNECTION_CAPACITY (256 * 1024)

struct http_connection {
    int fd;
    size_t n, taken; /* bytes that came, and those of the latest answer */
    char in[HTTP_CONNECTION_CAPACITY];
};

struct connection_response {
    int status;
    char request_id[37];
    long long reset; /* X-RateLimit-Reset; 0: none */
    bool closes;     /* the connection ends with it */
    const char *body;
    size_t body_n;
};

bool http_connection_open(struct http_connection *client, int port);
void http_connection_close(struct http_connection *client);
bool http_connection_send(struct http_connection *client, const char *bytes, size_t n);
bool http_connection_receive(struct http_connection *client, struct connection_response *out);

#endif

/*
 * raw_http - bytes over a plain socket, for requests that no HTTP library would send.
 *
 * Owns     Close what you have opened. Responses live in the caller's struct.
 * Threads  One thread per connection.
 * Fails    raw_http_read() returns false when no complete response came in time; the rest fails the
 *          test.
 */
#ifndef TESTS_SUPPORT_RAW_HTTP_H
#define TESTS_SUPPORT_RAW_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#define RAW_RESPONSE_MAX (256 * 1024)

struct raw_http {
    int fd;
    char *in; /* what came and was not taken yet */
    size_t in_n;
    bool ended; /* the other side closed */
    bool
        /* set after raw_http_open(): what comes is not the API's, so no journal has it */
        is_private;
};

struct raw_response {
    int status;
    char head[8192]; /* status line and headers */
    char body[RAW_RESPONSE_MAX];
    size_t body_n;
    bool says_close; /* Connection: close */
};

void raw_http_open(struct raw_http *raw, int port);
/* A bare socket whose kernel takes next to nothing until it is read. */
int raw_http_connect_small_window(int port);
void raw_http_close(struct raw_http *raw);
/* True unless the other side has closed already. */
bool raw_http_write(struct raw_http *raw, const char *bytes, size_t n);
/* The same on a socket that is not one of these. */
bool raw_http_send(int fd, const char *bytes, size_t n);
void raw_http_shutdown_write(struct raw_http *raw);
/* One whole answer, interim ones (1xx) included: by Content-Length, in chunks, or up to the end of
 * the connection. */
bool raw_http_read(struct raw_http *raw, struct raw_response *out, int timeout_ms);
/* True when the other side closes in time and sends nothing more. */
bool raw_http_ends(struct raw_http *raw, int timeout_ms);
/* The value of a header in `out`, or false. */
bool raw_http_header(const struct raw_response *response, const char *name, char *out,
                     size_t capacity);

#endif

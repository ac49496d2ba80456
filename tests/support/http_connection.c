#include "tests/support/http_connection.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/journal.h"

enum { CAPACITY_MIN = 16 * 1024, NARROW = 4096 };

static bool open_with(struct http_connection *connection, int port, int receive_capacity)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    *connection = (struct http_connection){.fd = fd};
    if (fd < 0)
        return false;
    if (receive_capacity != 0)
        cr_assert_eq(
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_capacity, sizeof(receive_capacity)), 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return true;
    http_connection_close(connection);
    return false;
}

bool http_connection_open(struct http_connection *connection, int port)
{
    return open_with(connection, port, 0);
}

bool http_connection_open_narrow(struct http_connection *connection, int port)
{
    return open_with(connection, port, NARROW);
}

void http_connection_close(struct http_connection *connection)
{
    if (connection->fd >= 0)
        close(connection->fd);
    free(connection->in);
    *connection = (struct http_connection){.fd = -1};
}

bool http_connection_send(struct http_connection *connection, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t done = send(connection->fd, bytes, n, MSG_NOSIGNAL);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        bytes += done;
        n -= (size_t)done;
    }
    return true;
}

void http_connection_end_sending(struct http_connection *connection)
{
    shutdown(connection->fd, SHUT_WR);
}

/* -- what comes ------------------------------------------------------------------------------- */

/* Reads what has arrived, waiting until `until_us` for something. False: nothing more will
   arrive. */
static bool take_in(struct http_connection *connection, int64_t until_us)
{
    struct pollfd p = {.fd = connection->fd, .events = POLLIN};
    const int64_t left_us = until_us - clock_mono_us();
    ssize_t n;

    if (connection->has_ended || left_us <= 0)
        return false;
    if (poll(&p, 1, (int)((left_us + 999) / 1000)) <= 0)
        return true;
    if (connection->capacity - connection->n < CAPACITY_MIN) {
        connection->capacity = 2 * connection->capacity + CAPACITY_MIN;
        connection->in = realloc(connection->in, connection->capacity);
        cr_assert_not_null(connection->in);
    }
    n = recv(connection->fd, connection->in + connection->n,
             connection->capacity - 1 - connection->n, 0);
    if (n <= 0) {
        connection->has_ended = n == 0 || errno != EINTR;
        return !connection->has_ended;
    }
    connection->n += (size_t)n;
    connection->in[connection->n] = '\0';
    return true;
}

static bool take_until(struct http_connection *connection, size_t n, int64_t until_us)
{
    while (connection->n < n)
        if (!take_in(connection, until_us))
            return false;
    return true;
}

/* The end of the line or head that begins at `from`, found by its last bytes; 0 if they do not
   arrive. */
static size_t take_until_text(struct http_connection *connection, size_t from, const char *text,
                              int64_t until_us)
{
    for (;;) {
        const char *const start = connection->in + from;
        const char *const end =
            connection->n > from ? memmem(start, connection->n - from, text, strlen(text)) : NULL;

        if (end != NULL)
            return (size_t)(end - connection->in) + strlen(text);
        if (!take_in(connection, until_us))
            return 0;
    }
}

/* Drops the latest response. */
static void drop_taken(struct http_connection *connection)
{
    if (connection->taken == 0)
        return;
    connection->in[connection->taken] = connection->next;
    connection->n -= connection->taken;
    memmove(connection->in, connection->in + connection->taken, connection->n + 1);
    connection->taken = 0;
}

size_t http_connection_pending(const struct http_connection *connection)
{
    return connection->n - connection->taken;
}

bool http_connection_ends(struct http_connection *connection, int timeout_ms)
{
    struct pollfd p = {.fd = connection->fd, .events = POLLIN};
    char more;

    if (connection->n > connection->taken)
        return false;
    return connection->has_ended ||
           (poll(&p, 1, timeout_ms) == 1 && recv(connection->fd, &more, 1, 0) <= 0);
}

/* -- responses --------------------------------------------------------------------------------- */

bool http_connection_header(const struct connection_response *response, const char *name, char *out,
                            size_t capacity)
{
    const size_t name_n = strlen(name);

    for (const char *line = strstr(response->head, "\r\n"); line != NULL;
         line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, name_n) == 0 && line[name_n] == ':') {
            const char *const value = line + name_n + 1 + strspn(line + name_n + 1, " \t");

            snprintf(out, capacity, "%.*s", (int)strcspn(value, "\r\n"), value);
            return true;
        }
    }
    return false;
}

/* Joins the chunks, at the place of the first one. *taken: the end of the last one. */
static bool read_chunks(struct http_connection *connection, size_t from, size_t *body_n,
                        size_t *taken, int64_t until_us)
{
    *body_n = 0;
    for (size_t line = from;;) {
        const size_t chunk = take_until_text(connection, line, "\r\n", until_us);
        size_t n;

        if (chunk == 0)
            return false;
        n = strtoul(connection->in + line, NULL, 16);
        if (!take_until(connection, chunk + n + 2, until_us))
            return false;
        memmove(connection->in + from + *body_n, connection->in + chunk, n);
        *body_n += n;
        line = *taken = chunk + n + 2;
        if (n == 0)
            return true;
    }
}

static bool read_body(struct http_connection *connection, size_t from,
                      struct connection_response *out, int64_t until_us)
{
    char value[64];

    connection->taken = from;
    if (out->status < 200)
        return true; /* interim: the final response follows */
    if (http_connection_header(out, "Content-Length", value, sizeof(value))) {
        out->body_n = strtoul(value, NULL, 10);
        connection->taken += out->body_n;
        return take_until(connection, connection->taken, until_us);
    }
    if (http_connection_header(out, "Transfer-Encoding", value, sizeof(value)))
        return read_chunks(connection, from, &out->body_n, &connection->taken, until_us);
    while (take_in(connection, until_us)) {
    }
    out->body_n = connection->n - from;
    connection->taken = connection->n;
    return connection->has_ended;
}

/* The NULs replace bytes that are no longer needed, or that are restored later. */
static bool read_response(struct http_connection *connection, struct connection_response *out,
                          int64_t until_us)
{
    const size_t from = take_until_text(connection, 0, "\r\n\r\n", until_us);

    if (from == 0)
        return false;
    connection->in[from - 2] = '\0';
    out->head = connection->in;
    if (sscanf(out->head, "HTTP/1.%*1[01] %3d", &out->status) != 1 ||
        !read_body(connection, from, out, until_us)) {
        connection->taken = 0;
        return false;
    }
    connection->next = connection->in[connection->taken];
    connection->in[from + out->body_n] = '\0';
    out->head = connection->in;
    out->body = connection->in + from;
    return true;
}

bool http_connection_receive(struct http_connection *connection, struct connection_response *out,
                             int timeout_ms)
{
    char value[64];

    *out = (struct connection_response){.head = "", .body = ""};
    drop_taken(connection);
    if (!read_response(connection, out, clock_mono_us() + timeout_ms * 1000LL)) {
        *out = (struct connection_response){.head = "", .body = ""};
        return false;
    }
    out->closes = http_connection_header(out, "Connection", value, sizeof(value)) &&
                  strcasecmp(value, "close") == 0;
    if (!http_connection_header(out, "X-Service-Request-Id", out->request_id,
                                sizeof(out->request_id)))
        out->request_id[0] = '\0';
    /* The request is not known here. An interim response (100) is not written. */
    if (out->status >= 200 && !connection->is_private)
        journal_write(&(struct journal_entry){.head = out->head,
                                              .head_n = strlen(out->head),
                                              .body = out->body,
                                              .body_n = out->body_n});
    return true;
}

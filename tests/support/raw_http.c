#include "tests/support/raw_http.h"

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

void raw_http_open(struct raw_http *raw, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *raw = (struct raw_http){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    cr_assert_geq(raw->fd, 0);
    cr_assert_eq(connect(raw->fd, (struct sockaddr *)&address, sizeof(address)), 0, "port %d: %s",
                 port, strerror(errno));
    setsockopt(raw->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    raw->in = calloc(1, RAW_RESPONSE_MAX + 1);
    cr_assert_not_null(raw->in);
}

int raw_http_connect_small_window(int port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), capacity = 4096;

    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &capacity, sizeof(capacity)), 0);
    cr_assert_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

void raw_http_close(struct raw_http *raw)
{
    close(raw->fd);
    free(raw->in);
}

bool raw_http_send(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = send(fd, bytes, n, MSG_NOSIGNAL);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        bytes += done;
        n -= (size_t)done;
    }
    return true;
}

bool raw_http_write(struct raw_http *raw, const char *bytes, size_t n)
{
    return raw_http_send(raw->fd, bytes, n);
}

void raw_http_shutdown_write(struct raw_http *raw)
{
    shutdown(raw->fd, SHUT_WR);
}

/* Takes in what is there, waiting up to `until_us` for something. False: nothing more will come. */
static bool take_in(struct raw_http *raw, int64_t until_us)
{
    struct pollfd p = {.fd = raw->fd, .events = POLLIN};
    int64_t left_us = until_us - clock_mono_us();
    ssize_t n;

    if (raw->ended || left_us <= 0 || raw->in_n >= RAW_RESPONSE_MAX)
        return false;
    if (poll(&p, 1, (int)((left_us + 999) / 1000)) <= 0)
        return true;
    n = recv(raw->fd, raw->in + raw->in_n, RAW_RESPONSE_MAX - raw->in_n, 0);
    if (n <= 0) {
        raw->ended = n == 0 || errno != EINTR;
        return !raw->ended;
    }
    raw->in_n += (size_t)n;
    return true;
}

static void drop(struct raw_http *raw, size_t n)
{
    memmove(raw->in, raw->in + n, raw->in_n - n);
    raw->in_n -= n;
    raw->in[raw->in_n] = '\0';
}

bool raw_http_header(const struct raw_response *response, const char *name, char *out,
                     size_t capacity)
{
    size_t name_n = strlen(name);

    for (const char *line = strstr(response->head, "\r\n"); line != NULL;
         line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, name_n) == 0 && line[name_n] == ':') {
            const char *value = line + name_n + 1;

            value += strspn(value, " \t");
            snprintf(out, capacity, "%.*s", (int)strcspn(value, "\r\n"), value);
            return true;
        }
    }
    return false;
}

static void add_body(struct raw_response *out, const char *bytes, size_t n)
{
    cr_assert_leq(out->body_n + n, sizeof(out->body) - 1);
    memcpy(out->body + out->body_n, bytes, n);
    out->body_n += n;
    out->body[out->body_n] = '\0';
}

static bool read_head(struct raw_http *raw, struct raw_response *out, int64_t until_us)
{
    const char *end;
    size_t n;

    while ((end = memmem(raw->in, raw->in_n, "\r\n\r\n", 4)) == NULL) {
        if (!take_in(raw, until_us))
            return false;
    }
    n = (size_t)(end - raw->in) + 4;
    cr_assert_lt(n, sizeof(out->head));
    memcpy(out->head, raw->in, n);
    out->head[n] = '\0';
    drop(raw, n);
    return sscanf(out->head, "HTTP/1.%*1[01] %3d", &out->status) == 1;
}

static bool read_length(struct raw_http *raw, struct raw_response *out, size_t n, int64_t until_us)
{
    while (raw->in_n < n) {
        if (!take_in(raw, until_us))
            return false;
    }
    add_body(out, raw->in, n);
    drop(raw, n);
    return true;
}

static bool read_chunks(struct raw_http *raw, struct raw_response *out, int64_t until_us)
{
    for (;;) {
        char *end;
        size_t n, head;

        while ((end = memmem(raw->in, raw->in_n, "\r\n", 2)) == NULL) {
            if (!take_in(raw, until_us))
                return false;
        }
        n = strtoul(raw->in, NULL, 16);
        head = (size_t)(end - raw->in) + 2;
        while (raw->in_n < head + n + 2) {
            if (!take_in(raw, until_us))
                return false;
        }
        add_body(out, raw->in + head, n);
        drop(raw, head + n + 2);
        if (n == 0)
            return true;
    }
}

static bool read_response(struct raw_http *raw, struct raw_response *out, int64_t until_us)
{
    char value[64];

    memset(out, 0, offsetof(struct raw_response, body) + 1);
    out->body_n = 0;
    if (!read_head(raw, out, until_us))
        return false;
    out->says_close =
        raw_http_header(out, "Connection", value, sizeof(value)) && strcasecmp(value, "close") == 0;
    if (out->status < 200)
        return true; /* interim: the answer follows */
    if (raw_http_header(out, "Content-Length", value, sizeof(value)))
        return read_length(raw, out, strtoul(value, NULL, 10), until_us);
    if (raw_http_header(out, "Transfer-Encoding", value, sizeof(value)))
        return read_chunks(raw, out, until_us);
    while (take_in(raw, until_us)) {
    }
    add_body(out, raw->in, raw->in_n);
    drop(raw, raw->in_n);
    return raw->ended;
}

bool raw_http_read(struct raw_http *raw, struct raw_response *out, int timeout_ms)
{
    if (!read_response(raw, out, clock_mono_us() + timeout_ms * 1000LL))
        return false;
    /* Which request it answers is not known here. An interim answer (100) is not one yet. */
    if (out->status >= 200 && !raw->is_private)
        journal_write(&(struct journal_entry){.head = out->head,
                                              .head_n = strlen(out->head),
                                              .body = out->body,
                                              .body_n = out->body_n});
    return true;
}

bool raw_http_ends(struct raw_http *raw, int timeout_ms)
{
    int64_t until_us = clock_mono_us() + timeout_ms * 1000LL;

    while (take_in(raw, until_us)) {
    }
    return raw->ended && raw->in_n == 0;
}

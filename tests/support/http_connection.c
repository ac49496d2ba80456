#include "tests/support/http_connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/raw_http.h"

enum { TIMEOUT_S = 30 };

bool http_connection_open(struct http_connection *client, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct timeval timeout = {.tv_sec = TIMEOUT_S};
    int one = 1;

    client->n = client->taken = 0;
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (client->fd < 0)
        return false;
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    if (connect(client->fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return true;
    http_connection_close(client);
    return false;
}

void http_connection_close(struct http_connection *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}

bool http_connection_send(struct http_connection *client, const char *bytes, size_t n)
{
    return raw_http_send(client->fd, bytes, n);
}

static bool take_in(struct http_connection *client)
{
    ssize_t got;

    do
        got = recv(client->fd, client->in + client->n, HTTP_CONNECTION_CAPACITY - 1 - client->n, 0);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return false;
    client->n += (size_t)got;
    client->in[client->n] = '\0';
    return true;
}

/* The value of a header; "" when there is none. The head ends with an empty line and a NUL. */
static const char *value_of(const char *head, const char *name)
{
    size_t n = strlen(name);

    for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, n) == 0 && line[n] == ':')
            return line + n + 1 + strspn(line + n + 1, " ");
    }
    return "";
}

static void read_head(const char *head, struct connection_response *out)
{
    *out = (struct connection_response){.status = atoi(head + strcspn(head, " "))};
    snprintf(out->request_id, sizeof(out->request_id), "%.36s",
             value_of(head, "x-service-request-id"));
    out->reset = strtoll(value_of(head, "x-ratelimit-reset"), NULL, 10);
    out->closes = strncasecmp(value_of(head, "connection"), "close", 5) == 0;
    out->body_n = strtoul(value_of(head, "content-length"), NULL, 10);
}

bool http_connection_receive(struct http_connection *client, struct connection_response *out)
{
    char *end;
    size_t head_n;

    client->n -= client->taken;
    memmove(client->in, client->in + client->taken, client->n);
    client->in[client->n] = '\0';
    client->taken = 0;
    while ((end = strstr(client->in, "\r\n\r\n")) == NULL)
        if (!take_in(client))
            return false;
    head_n = (size_t)(end - client->in) + 4;
    end[2] = '\0';
    read_head(client->in, out);
    if (head_n + out->body_n >= HTTP_CONNECTION_CAPACITY)
        return false;
    while (client->n < head_n + out->body_n)
        if (!take_in(client))
            return false;
    out->body = client->in + head_n;
    client->taken = head_n + out->body_n;
    return true;
}

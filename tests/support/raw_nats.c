#include "tests/support/raw_nats.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { TIMEOUT_S = 30, LINE_LIMIT = 1024 };

__attribute__((format(printf, 2, 3))) static void say(struct raw_nats *line, const char *pattern,
                                                      ...)
{
    char text[LINE_LIMIT];
    va_list rest;
    int n;

    va_start(rest, pattern);
    n = vsnprintf(text, sizeof(text), pattern, rest);
    va_end(rest);
    cr_assert(n > 0 && n < LINE_LIMIT);
    cr_assert_eq(send(line->fd, text, (size_t)n, MSG_NOSIGNAL), n);
}

static bool has_heard(const struct raw_nats *line, const char *text)
{
    return strstr(line->in, text) != NULL;
}

/* False: the server has hung up. */
static bool hear(struct raw_nats *line, const char *text)
{
    while (!has_heard(line, text)) {
        ssize_t got = recv(line->fd, line->in + line->n, sizeof(line->in) - 1 - line->n, 0);

        if (got == 0 || (got < 0 && errno == ECONNRESET))
            return false;
        cr_assert_gt(got, 0, "%s never came", text);
        line->n += (size_t)got;
        line->in[line->n] = '\0';
        cr_assert_lt(line->n, sizeof(line->in) - 1);
    }
    return true;
}

/* Returns when the server has judged all that was said before. */
static bool ask(struct raw_nats *line)
{
    line->n = 0;
    line->in[0] = '\0';
    say(line, "PING\r\n");
    return hear(line, "PONG\r\n");
}

bool raw_nats_open(struct raw_nats *line, int port, const char *user, const char *password)
{
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    *line = (struct raw_nats){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    cr_assert_geq(line->fd, 0);
    setsockopt(line->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(line->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    cr_assert_eq(connect(line->fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert(hear(line, "\r\n"), "no greeting");
    say(line,
        "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"user\":\"%s\","
        "\"pass\":\"%s\"}\r\nPING\r\n",
        user, password);
    return hear(line, "PONG\r\n");
}

void raw_nats_close(struct raw_nats *line)
{
    close(line->fd);
}

/* The server names what it refuses, as it was asked for. */
static bool is_taken(struct raw_nats *line, const char *kind, const char *subject)
{
    char refusal[LINE_LIMIT];

    cr_assert(ask(line), "the server has hung up over %s", subject);
    snprintf(refusal, sizeof(refusal), "-ERR 'Permissions Violation for %s to \"%s\"", kind,
             subject);
    if (!has_heard(line, "-ERR"))
        return true;
    cr_assert(has_heard(line, refusal), "%s: %s", subject, line->in);
    return false;
}

bool raw_nats_may_publish(struct raw_nats *line, const char *subject)
{
    static const char head[] = "NATS/1.0\r\nDeadline: 1\r\n\r\n";

    say(line, "HPUB %s %zu %zu\r\n%s\r\n", subject, sizeof(head) - 1, sizeof(head) - 1, head);
    return is_taken(line, "Publish", subject);
}

bool raw_nats_may_subscribe(struct raw_nats *line, const char *subject, const char *group)
{
    int id = ++line->n_subscriptions;
    bool may;

    say(line, "SUB %s %s %d\r\n", subject, group != NULL ? group : "", id);
    may = is_taken(line, "Subscription", subject);
    if (may)
        say(line, "UNSUB %d\r\n", id);
    return may;
}

void raw_nats_subscribe(struct raw_nats *line, const char *subject, const char *group)
{
    say(line, "SUB %s %s %d\r\n", subject, group != NULL ? group : "", ++line->n_subscriptions);
    cr_assert(is_taken(line, "Subscription", subject), "%s", subject);
}

void raw_nats_await(struct raw_nats *line, const char *subject)
{
    char head[LINE_LIMIT];

    snprintf(head, sizeof(head), "MSG %s ", subject);
    cr_assert(hear(line, head), "the server has hung up");
}

void raw_nats_publish(struct raw_nats *line, const char *subject, const char *reply_to)
{
    say(line, "PUB %s %s 0\r\n\r\n", subject, reply_to != NULL ? reply_to : "");
}

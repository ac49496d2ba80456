#include "tests/support/nats_client.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/stack.h"

enum { TIMEOUT_MS = 30000, LINE_LIMIT = 1024, CAPACITY_MIN = 64 * 1024, PART_MAX = 256 };

__attribute__((format(printf, 2, 3))) static void say(struct nats_client *client,
                                                      const char *pattern, ...)
{
    char text[LINE_LIMIT];
    va_list rest;
    int n;

    va_start(rest, pattern);
    n = vsnprintf(text, sizeof(text), pattern, rest);
    va_end(rest);
    cr_assert(n > 0 && n < LINE_LIMIT);
    cr_assert_eq(send(client->fd, text, (size_t)n, MSG_NOSIGNAL), n);
}

bool nats_client_has(const struct nats_client *client, const char *text)
{
    return client->n > 0 && memmem(client->in, client->n, text, strlen(text)) != NULL;
}

/* False: the server has hung up. */
static bool take_in(struct nats_client *client)
{
    ssize_t got;

    if (client->capacity - client->n < CAPACITY_MIN) {
        client->capacity = 2 * client->capacity + CAPACITY_MIN;
        client->in = realloc(client->in, client->capacity);
        cr_assert_not_null(client->in);
    }
    got = recv(client->fd, client->in + client->n, client->capacity - client->n, 0);
    if (got == 0 || (got < 0 && errno == ECONNRESET))
        return false;
    cr_assert_gt(got, 0);
    /* The server checks from time to time whether the client is alive. */
    if (memmem(client->in + client->n, (size_t)got, "PING\r\n", 6) != NULL)
        say(client, "PONG\r\n");
    client->n += (size_t)got;
    return true;
}

/* False: the server has hung up. */
static bool hear(struct nats_client *client, const char *text)
{
    const int64_t until_us = clock_mono_us() + TIMEOUT_MS * INT64_C(1000);
    struct pollfd p = {.fd = client->fd, .events = POLLIN};

    while (!nats_client_has(client, text)) {
        const int64_t left_us = until_us - clock_mono_us();

        cr_assert(left_us > 0 && poll(&p, 1, (int)(left_us / 1000) + 1) == 1, "%s never came",
                  text);
        if (!take_in(client))
            return false;
    }
    return true;
}

/* Clears what was received. Returns once the server has checked everything sent before. */
static bool ask(struct nats_client *client)
{
    client->n = 0;
    say(client, "PING\r\n");
    return hear(client, "PONG\r\n");
}

bool nats_client_open(struct nats_client *client, int port, const char *user, const char *password)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    *client = (struct nats_client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    cr_assert_geq(client->fd, 0);
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    cr_assert_eq(connect(client->fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert(hear(client, "\r\n"), "no greeting");
    say(client,
        "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"user\":\"%s\","
        "\"pass\":\"%s\"}\r\nPING\r\n",
        user, password);
    return hear(client, "PONG\r\n");
}

void nats_client_open_on_all(struct nats_client *client)
{
    char user[PART_MAX], password[PART_MAX];
    int port;

    cr_assert_eq(sscanf(stack_setting("NATS_URL"), "nats://%255[^:]:%255[^@]@127.0.0.1:%d", user,
                        password, &port),
                 3, "NATS_URL is not of the form expected");
    cr_assert(nats_client_open(client, port, user, password));
    nats_client_subscribe(client, ">", NULL);
}

void nats_client_close(struct nats_client *client)
{
    close(client->fd);
    free(client->in);
}

/* The server repeats the subject that it refuses. */
static bool is_accepted(struct nats_client *client, const char *kind, const char *subject)
{
    char refusal[LINE_LIMIT];

    cr_assert(ask(client), "the server has hung up over %s", subject);
    snprintf(refusal, sizeof(refusal), "-ERR 'Permissions Violation for %s to \"%s\"", kind,
             subject);
    if (!nats_client_has(client, "-ERR"))
        return true;
    cr_assert(nats_client_has(client, refusal), "%s: %.*s", subject, (int)client->n, client->in);
    return false;
}

bool nats_client_may_publish(struct nats_client *client, const char *subject)
{
    static const char head[] = "NATS/1.0\r\nDeadline: 1\r\n\r\n";

    say(client, "HPUB %s %zu %zu\r\n%s\r\n", subject, sizeof(head) - 1, sizeof(head) - 1, head);
    return is_accepted(client, "Publish", subject);
}

static bool subscribe(struct nats_client *client, const char *subject, const char *group)
{
    say(client, "SUB %s %s %d\r\n", subject, group != NULL ? group : "", ++client->n_subscriptions);
    return is_accepted(client, "Subscription", subject);
}

bool nats_client_may_subscribe(struct nats_client *client, const char *subject, const char *group)
{
    const bool may = subscribe(client, subject, group);

    if (may)
        say(client, "UNSUB %d\r\n", client->n_subscriptions);
    return may;
}

void nats_client_subscribe(struct nats_client *client, const char *subject, const char *group)
{
    cr_assert(subscribe(client, subject, group), "%s", subject);
}

void nats_client_publish(struct nats_client *client, const char *subject, const char *reply_to)
{
    say(client, "PUB %s %s 0\r\n\r\n", subject, reply_to != NULL ? reply_to : "");
}

void nats_client_await(struct nats_client *client, const char *subject)
{
    char head[LINE_LIMIT];

    snprintf(head, sizeof(head), "MSG %s ", subject);
    nats_client_await_text(client, head);
}

void nats_client_await_text(struct nats_client *client, const char *text)
{
    cr_assert(hear(client, text), "the server has hung up");
}

#include "tests/support/wiretap.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/stack.h"

enum { ROOM = 64 * 1024 * 1024, PART_MOST = 256, PATIENCE_US = 10000000 };

/* nats://USER:PASSWORD@ADDRESS:PORT */
struct place {
    char user[PART_MOST], password[PART_MOST], address[PART_MOST];
    int port;
};

static void read_place(struct place *place)
{
    const char *url = stack_setting("NATS_URL");

    cr_assert_eq(sscanf(url, "nats://%255[^:]:%255[^@]@%255[^:]:%d", place->user, place->password,
                        place->address, &place->port),
                 4, "NATS_URL is not of the form expected");
}

static void say(const struct wiretap *tap, const char *text)
{
    cr_assert_eq(send(tap->fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* What has come in a quarter of a second at most. */
static void take_in(struct wiretap *tap)
{
    ssize_t got = recv(tap->fd, tap->bytes + tap->n, ROOM - tap->n, 0);

    cr_assert_neq(got, 0, "the bus has hung up");
    if (got < 0)
        return;
    /* It wants to know now and then whether we are still there. */
    if (memmem(tap->bytes + tap->n, (size_t)got, "PING\r\n", 6) != NULL)
        say(tap, "PONG\r\n");
    tap->n += (size_t)got;
    cr_assert_lt(tap->n, ROOM);
}

bool wiretap_heard(const struct wiretap *tap, const char *text)
{
    return memmem(tap->bytes, tap->n, text, strlen(text)) != NULL;
}

void wiretap_await(struct wiretap *tap, const char *text)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;

    while (!wiretap_heard(tap, text)) {
        cr_assert_lt(clock_mono_us(), until_us, "%s never came by", text);
        take_in(tap);
    }
}

void wiretap_open(struct wiretap *tap)
{
    const struct timeval patience = {.tv_usec = 250000};
    struct sockaddr_in address = {.sin_family = AF_INET};
    char hello[3 * PART_MOST];
    struct place place;

    read_place(&place);
    address.sin_port = htons((uint16_t)place.port);
    cr_assert_eq(inet_pton(AF_INET, place.address, &address.sin_addr), 1);
    *tap = (struct wiretap){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                            .bytes = calloc(1, ROOM)};
    cr_assert(tap->fd >= 0 && tap->bytes != NULL);
    setsockopt(tap->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    cr_assert_eq(connect(tap->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    snprintf(hello, sizeof(hello),
             "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"user\":\"%s\","
             "\"pass\":\"%s\"}\r\nSUB > 1\r\nPING\r\n",
             place.user, place.password);
    say(tap, hello);
    wiretap_await(tap, "PONG\r\n");
}

void wiretap_close(struct wiretap *tap)
{
    close(tap->fd);
    free(tap->bytes);
}

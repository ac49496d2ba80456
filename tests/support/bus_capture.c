#include "tests/support/bus_capture.h"

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

enum { CAPACITY = 64 * 1024 * 1024, PART_MAX = 256, TIMEOUT_US = 10000000 };

/* nats://USER:PASSWORD@ADDRESS:PORT */
struct place {
    char user[PART_MAX], password[PART_MAX], address[PART_MAX];
    int port;
};

static void read_place(struct place *place)
{
    const char *url = stack_setting("NATS_URL");

    cr_assert_eq(sscanf(url, "nats://%255[^:]:%255[^@]@%255[^:]:%d", place->user, place->password,
                        place->address, &place->port),
                 4, "NATS_URL is not of the form expected");
}

static void say(const struct bus_capture *capture, const char *text)
{
    cr_assert_eq(send(capture->fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* What has come in a quarter of a second at most. */
static void take_in(struct bus_capture *capture)
{
    ssize_t got = recv(capture->fd, capture->bytes + capture->n, CAPACITY - capture->n, 0);

    cr_assert_neq(got, 0, "the bus has hung up");
    if (got < 0)
        return;
    /* It wants to know now and then whether we are still there. */
    if (memmem(capture->bytes + capture->n, (size_t)got, "PING\r\n", 6) != NULL)
        say(capture, "PONG\r\n");
    capture->n += (size_t)got;
    cr_assert_lt(capture->n, CAPACITY);
}

bool bus_capture_has(const struct bus_capture *capture, const char *text)
{
    return memmem(capture->bytes, capture->n, text, strlen(text)) != NULL;
}

void bus_capture_await(struct bus_capture *capture, const char *text)
{
    int64_t until_us = clock_mono_us() + TIMEOUT_US;

    while (!bus_capture_has(capture, text)) {
        cr_assert_lt(clock_mono_us(), until_us, "%s never came by", text);
        take_in(capture);
    }
}

void bus_capture_open(struct bus_capture *capture)
{
    const struct timeval timeout = {.tv_usec = 250000};
    struct sockaddr_in address = {.sin_family = AF_INET};
    char hello[3 * PART_MAX];
    struct place place;

    read_place(&place);
    address.sin_port = htons((uint16_t)place.port);
    cr_assert_eq(inet_pton(AF_INET, place.address, &address.sin_addr), 1);
    *capture = (struct bus_capture){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                                    .bytes = calloc(1, CAPACITY)};
    cr_assert(capture->fd >= 0 && capture->bytes != NULL);
    setsockopt(capture->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    cr_assert_eq(connect(capture->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    snprintf(hello, sizeof(hello),
             "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"user\":\"%s\","
             "\"pass\":\"%s\"}\r\nSUB > 1\r\nPING\r\n",
             place.user, place.password);
    say(capture, hello);
    bus_capture_await(capture, "PONG\r\n");
}

void bus_capture_close(struct bus_capture *capture)
{
    close(capture->fd);
    free(capture->bytes);
}

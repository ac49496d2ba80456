/* A gateway's limit on connections: no address or network gets more than its part of it, and at a
   limit an idle connection is shut for a new one. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/api_client.h"
#include "tests/support/replica.h"

TestSuite(connections, .init = stack_share);

#define METRIC "conversations_gateway_connections_"

enum { TIMEOUT_MS = 30000, IDLE_US = 1000000 };

/* From 127.0.`network`.`host`. */
static int connect_from(int network, int host, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr =
                                   htonl(0x7f000000u | (uint32_t)(network << 8 | host))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_eq(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* Whether a ping without a key is answered. */
static bool is_answered(int fd)
{
    static const char request[] = "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\n\r\n";
    struct pollfd waits = {.fd = fd, .events = POLLIN};
    char response[4096];

    if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
        return false;
    cr_assert_eq(poll(&waits, 1, TIMEOUT_MS), 1, "neither a response nor a close");
    return recv(fd, response, sizeof(response), 0) > 12 &&
           memcmp(response, "HTTP/1.1 401", 12) == 0;
}

static void let_become_idle(void)
{
    const int64_t since_us = clock_mono_us();

    while (clock_mono_us() - since_us <= IDLE_US)
        poll(NULL, 0, 10);
}

/* The connections beyond a limit that were closed, or that took the place of an idle one: of those
   that are idle for less than a second none makes room, but a slow machine takes longer. */
static long long beyond_limit(const struct replica *gateway)
{
    return replica_metric(gateway, METRIC "refused_total") +
           replica_metric(gateway, METRIC "shed_total");
}

Test(connections, of_one_address_are_a_sixteenth)
{
    enum { OF_ONE = 4 };
    struct replica gateway;
    int fds[OF_ONE], fd;

    replica_start(&gateway, (const char *const[]){"MAX_CONNECTIONS=64",
                                                  "TRUSTED_PROXIES=127.0.0.9/32", NULL});
    for (int i = 0; i < OF_ONE; i++)
        fds[i] = connect_from(0, 2, gateway.port);
    for (int i = 0; i < OF_ONE; i++)
        cr_assert(is_answered(fds[i]));
    fd = connect_from(0, 2, gateway.port);
    (void)is_answered(fd);
    close(fd);
    cr_assert_eq(beyond_limit(&gateway), 1);
    fd = connect_from(0, 3, gateway.port);
    cr_assert(is_answered(fd), "others are admitted");
    close(fd);
    for (int i = 0; i < 2 * OF_ONE; i++)
        cr_assert(is_answered(connect_from(0, 9, gateway.port)), "a proxy has many clients");
    replica_stop(&gateway);
}

Test(connections, that_are_idle_make_room_for_others_of_their_address)
{
    enum { OF_ONE = 4 };
    struct replica gateway;
    int fds[OF_ONE];

    replica_start(&gateway, (const char *const[]){"MAX_CONNECTIONS=64", NULL});
    for (int i = 0; i < OF_ONE; i++) {
        fds[i] = connect_from(1, 2, gateway.port);
        cr_assert(is_answered(fds[i]));
    }
    let_become_idle();
    cr_assert(is_answered(connect_from(1, 2, gateway.port)));
    cr_assert_eq(replica_metric(&gateway, METRIC "shed_total"), 1, "%lld",
                 replica_metric(&gateway, METRIC "shed_total"));
    cr_assert_eq(replica_metric(&gateway, METRIC "refused_total"), 0);
    cr_expect_not(is_answered(fds[0]), "it was idle for longest");
    cr_expect(is_answered(fds[1]));
    replica_stop(&gateway);
}

Test(connections, of_one_network_are_a_quarter)
{
    enum { OF_NETWORK = 16 };
    struct replica gateway;
    int fd;

    replica_start(&gateway, (const char *const[]){"MAX_CONNECTIONS=64", NULL});
    for (int i = 0; i < OF_NETWORK; i++)
        cr_assert(is_answered(connect_from(1, 2 + i, gateway.port)));
    fd = connect_from(1, 100, gateway.port);
    (void)is_answered(fd);
    close(fd);
    cr_assert_eq(beyond_limit(&gateway), 1, "another address of the network");
    cr_assert(is_answered(connect_from(2, 100, gateway.port)), "another network");
    replica_stop(&gateway);
}

Test(connections, of_the_network_with_most_make_room_first)
{
    enum { MAX = 16, OTHERS = 13 };
    struct replica gateway;
    int others[OTHERS], fds[MAX - OTHERS];

    replica_start(&gateway, (const char *const[]){"MAX_CONNECTIONS=16", NULL});
    for (int i = 0; i < OTHERS; i++) {
        others[i] = connect_from(20 + i, 1, gateway.port);
        cr_assert(is_answered(others[i]));
    }
    for (int i = 0; i < MAX - OTHERS; i++) {
        fds[i] = connect_from(1, 2 + i, gateway.port);
        cr_assert(is_answered(fds[i]));
    }
    let_become_idle();
    cr_assert(is_answered(connect_from(2, 1, gateway.port)));
    cr_assert_eq(replica_metric(&gateway, METRIC "shed_total"), 1, "%lld",
                 replica_metric(&gateway, METRIC "shed_total"));
    for (int i = 0; i < OTHERS; i++)
        cr_expect(is_answered(others[i]), "others have been idle for longer: %d", i);
    cr_expect_not(is_answered(fds[0]));
    cr_expect(is_answered(fds[1]));
    replica_stop(&gateway);
}

Test(connections, that_are_idle_for_longest_make_room)
{
    enum { MAX = 16 };
    struct replica gateway;
    int fds[MAX], late;

    replica_start(&gateway, (const char *const[]){"MAX_CONNECTIONS=16", NULL});
    for (int i = 0; i < MAX; i++) {
        fds[i] = connect_from(20 + i, 1, gateway.port);
        cr_assert(is_answered(fds[i]));
    }
    cr_assert(is_answered(fds[0]), "this connection is no longer the one idle for longest");
    late = connect_from(20 + MAX, 1, gateway.port);
    cr_assert(is_answered(late), "admitted once another has been idle for a second");
    cr_assert_eq(replica_metric(&gateway, METRIC "shed_total"), 1, "%lld",
                 replica_metric(&gateway, METRIC "shed_total"));
    cr_assert_not(is_answered(fds[1]));
    for (int i = 0; i < MAX; i++)
        if (i != 1)
            cr_assert(is_answered(fds[i]), "%d", i);
    replica_stop(&gateway);
}

#include "common/http/lingering_close.h"

#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/measure.h"

static h2o_loop_t *loop;
static struct timers timers;
static struct lingering_closes lingering;

static void set_up(void)
{
    loop = h2o_evloop_create();
    timers_init(&timers, loop);
    lingering_close_init(&lingering, &timers);
}

TestSuite(lingering_close, .init = set_up);

/* Closes a connection as h2o does, with one of these begun; returns the client's socket. */
static int begin(void)
{
    int fds[2];
    h2o_socket_t *ours;

    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    ours = h2o_evloop_socket_create(loop, fds[0], H2O_SOCKET_FLAG_DONT_READ);
    lingering_close_begin(&lingering, ours);
    h2o_socket_close(ours);
    return fds[1];
}

/* Runs the loop until `n` are left, for 30 s at most. */
static void run_until(size_t n)
{
    const int64_t until_us = clock_mono_us() + limit_scaled(INT64_C(30) * 1000 * 1000);

    while (lingering.n > n && clock_mono_us() < until_us)
        cr_assert_eq(h2o_evloop_run(loop, 10), 0);
    cr_assert_eq(lingering.n, n);
}

Test(lingering_close, ends_our_side_and_discards_what_comes_until_the_client_closes)
{
    static char sent[100 * 1000];
    const int client = begin();
    char byte;

    cr_assert_gt(send(client, sent, sizeof(sent), 0), 0);
    while (recv(client, &byte, 1, 0) != 0)
        cr_assert_eq(h2o_evloop_run(loop, 10), 0);
    cr_assert_eq(lingering.n, 1);
    close(client);
    run_until(0);
}

Test(lingering_close, ends_when_the_client_sends_without_end)
{
    enum { MIB = 1024 * 1024 };
    static char sent[64 * 1024];
    const int client = begin();
    size_t n = 0;

    while (lingering.n > 0) {
        const ssize_t taken = send(client, sent, sizeof(sent), MSG_NOSIGNAL);

        n += taken > 0 ? (size_t)taken : 0;
        cr_assert_leq(n, 5 * MIB);
        cr_assert_eq(h2o_evloop_run(loop, 0), 0);
    }
    cr_assert_gt(n, 4 * MIB);
    close(client);
}

Test(lingering_close, ends_after_two_seconds)
{
    const int64_t from_us = clock_mono_us();
    const int client = begin();

    run_until(0);
    cr_assert_geq(clock_mono_us() - from_us, 1900 * 1000);
    close(client);
}

Test(lingering_close, is_left_out_while_256_are_under_way)
{
    int last = -1;
    char byte;

    for (int i = 0; i < LINGERING_CLOSES_MAX + 1; i++)
        last = begin();
    cr_assert_eq(lingering.n, LINGERING_CLOSES_MAX);
    cr_assert_eq(send(last, "x", 1, MSG_NOSIGNAL), -1, "it is just closed");
    cr_assert_eq(recv(last, &byte, 1, 0), 0);
    lingering_close_end_all(&lingering);
    cr_assert_eq(lingering.n, 0);
}

/*
 * tcp_proxy PORT - the process of a tcp_proxy, which starts it.
 *
 * Forwards each connection to that port of the loopback interface. TCP_PROXY_LISTENER accepts them,
 * and TCP_PROXY_WEATHER is a struct tcp_proxy_weather, which applies at once upon SIGUSR1; the
 * signal must be blocked when the process starts. Ends with the thread that started it, or with 1 on
 * an error.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/tcp_proxy.h"

enum {
    LISTENER,
    FIRST = 2, /* the first end of a connection: even */
    ENDS = FIRST + 128,
    PART = 64 * 1024
};

/* Data read from the other end and not yet sent to this one. Until it is sent, nothing more is read
   there: a peer that does not read does not block other connections. */
struct unsent {
    char bytes[PART];
    size_t from, n;
    int64_t due_us; /* not sent before */
};

static struct pollfd at[ENDS]; /* the ends `i` and `i ^ 1` are one connection */
static struct unsent unsent[ENDS];
static int used = FIRST; /* no end from here on has ever been used */
static const struct tcp_proxy_weather *weather;
static uint16_t to;

/* Data from the end `i`: the even ones belong to the connecting side. */
static bool is_held(int i)
{
    return i % 2 == 0 ? weather->holds_requests : weather->holds_replies;
}

static void hang_up(int i)
{
    close(at[i].fd);
    close(at[i ^ 1].fd);
    at[i].fd = at[i ^ 1].fd = -1;
}

/* A network passes small packets on at once: Nagle's algorithm would hold them until the receiver's delayed
   acknowledgement, 40 ms. */
static bool send_at_once(int fd)
{
    return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) == 0;
}

static void take_in(void)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(to),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int i = FIRST;

    while (i < used && at[i].fd >= 0)
        i += 2;
    if (i == ENDS)
        _exit(1);
    if (i == used)
        used += 2;
    unsent[i].n = unsent[i + 1].n = 0;
    at[i].fd = accept4(at[LISTENER].fd, NULL, NULL, SOCK_CLOEXEC);
    at[i + 1].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(at[i + 1].fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        !send_at_once(at[i].fd) || !send_at_once(at[i + 1].fd))
        hang_up(i);
}

/* False: the end is gone. */
static bool send_on(int i)
{
    struct unsent *left = &unsent[i];
    ssize_t n;

    if (left->n == 0 || is_held(i ^ 1) || clock_mono_us() < left->due_us)
        return true;
    n = send(at[i].fd, left->bytes + left->from, left->n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN;
    left->from += (size_t)n;
    left->n -= (size_t)n;
    return true;
}

static bool read_for_other(int i)
{
    struct unsent *left = &unsent[i ^ 1];
    ssize_t n;

    if (left->n > 0)
        return (at[i].revents & (POLLHUP | POLLERR)) == 0;
    n = recv(at[i].fd, left->bytes, PART, MSG_DONTWAIT);
    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    left->from = 0;
    left->n = (size_t)n;
    left->due_us = clock_mono_us() + weather->delay_ms * 1000LL;
    return send_on(i ^ 1);
}

/* Selects the ends to poll; returns the longest time to wait until held data is due. */
static int choose_events(void)
{
    const int64_t now_us = clock_mono_us();
    int wait_ms = -1;

    for (int i = FIRST; i < used; i++) {
        const struct unsent *left = &unsent[i];
        const int64_t early_us = left->n > 0 && at[i].fd >= 0 ? left->due_us - now_us : 0;
        const bool may_send = left->n > 0 && early_us <= 0 && !is_held(i ^ 1);

        at[i].events = (short)((unsent[i ^ 1].n == 0 ? POLLIN : 0) | (may_send ? POLLOUT : 0));
        if (early_us > 0 && (wait_ms < 0 || early_us / 1000 < wait_ms))
            wait_ms = (int)(early_us / 1000) + 1;
    }
    return wait_ms;
}

/* SIGUSR1 is delivered only here, so a change of weather takes effect at once. */
static void await(void)
{
    const int wait_ms = choose_events();
    const struct timespec wait = {wait_ms / 1000, wait_ms % 1000 * 1000000L};
    sigset_t none;

    sigemptyset(&none);
    if (ppoll(at, (nfds_t)used, wait_ms < 0 ? NULL : &wait, &none) >= 0)
        return;
    if (errno != EINTR)
        _exit(1);
    for (int i = 0; i < used; i++)
        at[i].revents = 0;
}

static void on_weather(int signal)
{
    (void)signal;
}

/* What the test closes must be closed for good. */
static bool close_others(void)
{
    return close_range(STDERR_FILENO + 1, UINT_MAX, 0) == 0;
}

static bool take_weather(void)
{
    void *shared = mmap(NULL, sizeof(*weather), PROT_READ, MAP_SHARED, TCP_PROXY_WEATHER, 0);

    weather = shared;
    return shared != MAP_FAILED && signal(SIGUSR1, on_weather) != SIG_ERR;
}

int main(int argc, char **argv)
{
    if (argc != 2 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || !close_others() || !take_weather())
        return 1;
    to = (uint16_t)atoi(argv[1]);
    for (int i = 0; i < ENDS; i++)
        at[i] = (struct pollfd){.fd = i == LISTENER ? TCP_PROXY_LISTENER : -1, .events = POLLIN};
    for (;;) {
        await();
        for (int i = FIRST; i < used; i++)
            if (at[i].fd >= 0 && !(send_on(i) && (at[i].revents == 0 || read_for_other(i))))
                hang_up(i);
        if (at[LISTENER].revents != 0)
            take_in();
    }
}

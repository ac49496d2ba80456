#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/port.h"

enum { LISTENER = 128 /* behind the ends of 64 connections */, PART = 64 * 1024 };

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int listen_at(uint16_t port)
{
    const struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

    cr_assert_geq(fd, 0);
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), 0);
    cr_assert_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(listen(fd, SOMAXCONN), 0);
    return fd;
}

/* -- the proxy's process --------------------------------------------------------------------- */

/* What has come from the other end and was not taken yet. Until it is, no more is read there: nobody
   who does not read holds up the other connections. */
struct unsent {
    char bytes[PART];
    size_t from, n;
};

static struct pollfd at[LISTENER + 1]; /* the ends `i` and `i ^ 1` belong together */
static struct unsent unsent[LISTENER];

static void hang_up(int i)
{
    close(at[i].fd);
    close(at[i ^ 1].fd);
    at[i].fd = at[i ^ 1].fd = -1;
}

static void take_in(uint16_t to)
{
    const struct sockaddr_in address = loopback(to);
    int i = 0;

    while (i < LISTENER && at[i].fd >= 0)
        i += 2;
    if (i == LISTENER)
        _exit(1);
    unsent[i].n = unsent[i + 1].n = 0;
    at[i].fd = accept4(at[LISTENER].fd, NULL, NULL, SOCK_CLOEXEC);
    at[i + 1].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(at[i + 1].fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        hang_up(i);
}

/* False: the end is gone. */
static bool send_on(int i)
{
    struct unsent *left = &unsent[i];
    ssize_t n;

    if (left->n == 0)
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
    return send_on(i ^ 1);
}

static void await(void)
{
    for (int i = 0; i < LISTENER; i++)
        at[i].events =
            (short)((unsent[i ^ 1].n == 0 ? POLLIN : 0) | (unsent[i].n > 0 ? POLLOUT : 0));
    while (poll(at, LISTENER + 1, -1) < 0)
        if (errno != EINTR)
            _exit(1);
}

static _Noreturn void run(int listener, uint16_t to)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i <= LISTENER; i++)
        at[i] = (struct pollfd){.fd = i == LISTENER ? listener : -1, .events = POLLIN};
    for (;;) {
        await();
        for (int i = 0; i < LISTENER; i++)
            if (at[i].fd >= 0 && at[i].revents != 0 && !(send_on(i) && read_for_other(i)))
                hang_up(i);
        if (at[LISTENER].revents != 0)
            take_in(to);
    }
}

/* -- the test's ------------------------------------------------------------------------------ */

void tcp_proxy_restore(struct tcp_proxy *proxy)
{
    int listener = listen_at(proxy->port);

    proxy->pid = fork();
    cr_assert_geq(proxy->pid, 0);
    if (proxy->pid == 0)
        run(listener, proxy->to);
    close(listener);
}

void tcp_proxy_start(struct tcp_proxy *proxy, uint16_t to)
{
    *proxy = (struct tcp_proxy){.port = port_free(), .to = to};
    tcp_proxy_restore(proxy);
}

void tcp_proxy_cut(struct tcp_proxy *proxy)
{
    cr_assert_eq(kill(proxy->pid, SIGKILL), 0);
    cr_assert_eq(waitpid(proxy->pid, NULL, 0), proxy->pid);
    proxy->pid = 0;
}

void tcp_proxy_pause(struct tcp_proxy *proxy)
{
    int status;

    cr_assert_eq(kill(proxy->pid, SIGSTOP), 0);
    cr_assert_eq(waitpid(proxy->pid, &status, WUNTRACED), proxy->pid);
    cr_assert(WIFSTOPPED(status));
}

void tcp_proxy_resume(struct tcp_proxy *proxy)
{
    cr_assert_eq(kill(proxy->pid, SIGCONT), 0);
}

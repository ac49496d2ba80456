#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
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

static void hang_up(struct pollfd *at, int i)
{
    close(at[i].fd);
    close(at[i ^ 1].fd);
    at[i].fd = at[i ^ 1].fd = -1;
}

static void take_in(struct pollfd *at, uint16_t to)
{
    const struct sockaddr_in address = loopback(to);
    int i = 0;

    while (i < LISTENER && at[i].fd >= 0)
        i += 2;
    if (i == LISTENER)
        _exit(1);
    at[i].fd = accept4(at[LISTENER].fd, NULL, NULL, SOCK_CLOEXEC);
    at[i + 1].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(at[i + 1].fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        hang_up(at, i);
}

static bool pass_on(int from, int to)
{
    char part[PART];
    ssize_t n = recv(from, part, sizeof(part), 0);

    return n > 0 && send(to, part, (size_t)n, MSG_NOSIGNAL) == n;
}

static void run(int listener, uint16_t to)
{
    struct pollfd at[LISTENER + 1]; /* the ends `i` and `i ^ 1` belong together */

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i <= LISTENER; i++)
        at[i] = (struct pollfd){.fd = i == LISTENER ? listener : -1, .events = POLLIN};
    while (poll(at, LISTENER + 1, -1) > 0) {
        for (int i = 0; i < LISTENER; i++)
            if (at[i].fd >= 0 && at[i].revents != 0 && !pass_on(at[i].fd, at[i ^ 1].fd))
                hang_up(at, i);
        if (at[LISTENER].revents != 0)
            take_in(at, to);
    }
    _exit(1);
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

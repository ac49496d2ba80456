#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/port.h"

enum {
    LISTENER,
    FIRST = 2, /* the first end of a connection: even */
    ENDS = FIRST + 128,
    PART = 64 * 1024
};

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

static void take_in(uint16_t to)
{
    const struct sockaddr_in address = loopback(to);
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

/* Closes the test's other descriptors: what the test closes must be closed for good. */
static int keep_only(int listener)
{
    const int kept = dup2(listener, STDERR_FILENO + 1);

    if (kept < 0 || close_range((unsigned)kept + 1, UINT_MAX, 0) != 0)
        _exit(1);
    return kept;
}

static _Noreturn void run(int listener, const struct tcp_proxy *proxy)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, on_weather);
    listener = keep_only(listener);
    weather = proxy->weather;
    for (int i = 0; i < ENDS; i++)
        at[i] = (struct pollfd){.fd = i == LISTENER ? listener : -1, .events = POLLIN};
    for (;;) {
        await();
        for (int i = FIRST; i < used; i++)
            if (at[i].fd >= 0 && !(send_on(i) && (at[i].revents == 0 || read_for_other(i))))
                hang_up(i);
        if (at[LISTENER].revents != 0)
            take_in(proxy->to);
    }
}

/* -- the test's ------------------------------------------------------------------------------ */

/* SIGUSR1 is blocked before the process starts, since a change of weather may arrive at once. */
void tcp_proxy_restore(struct tcp_proxy *proxy)
{
    int listener = listen_at(proxy->port);
    sigset_t told, before;

    sigemptyset(&told);
    sigaddset(&told, SIGUSR1);
    cr_assert_eq(pthread_sigmask(SIG_BLOCK, &told, &before), 0);
    proxy->pid = fork();
    cr_assert_geq(proxy->pid, 0);
    if (proxy->pid == 0)
        run(listener, proxy);
    cr_assert_eq(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    close(listener);
}

void tcp_proxy_start(struct tcp_proxy *proxy, uint16_t to)
{
    *proxy = (struct tcp_proxy){
        .port = port_free(),
        .to = to,
        .weather = mmap(NULL, sizeof(*proxy->weather), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0),
    };
    cr_assert(proxy->weather != MAP_FAILED);
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

void tcp_proxy_change_weather(struct tcp_proxy *proxy, const struct tcp_proxy_weather *now)
{
    proxy->weather->delay_ms = now->delay_ms;
    proxy->weather->holds_requests = now->holds_requests;
    proxy->weather->holds_replies = now->holds_replies;
    if (proxy->pid != 0)
        cr_assert_eq(kill(proxy->pid, SIGUSR1), 0);
}

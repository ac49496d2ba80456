#include "services/webhook/connect.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/list.h"
#include "common/base/log.h"
#include "common/net/lookup.h"
#include "services/webhook/address_policy.h"

enum { EVENTS_MAX = 64 };

struct candidate {
    struct address address;
    int fd; /* of one that is being tried; -1 otherwise */
};

struct connecting {
    struct connects *connects;
    struct attempt *attempt;
    struct list link;
    /* Those that have not failed; the first `n_tried` have a socket, in the order of their
       beginning. */
    struct candidate candidates[LOOKUP_ADDRESSES_MAX];
    size_t n, n_tried;
    bool is_ready;        /* one of its sockets has news */
    enum failure failure; /* of the address that failed last */
    int64_t delay_us, due_us;
};

struct connects {
    struct connects_options options;
    struct list list; /* those that are being connected */
    int epoll;
};

/* -- the addresses of an attempt --------------------------------------------------------------- */

static void close_socket(struct candidate *candidate)
{
    if (candidate->fd >= 0)
        close(candidate->fd);
    candidate->fd = -1;
}

static void drop(struct connecting *connecting, size_t i, enum failure failure)
{
    struct candidate *candidate = &connecting->candidates[i];
    const struct address address = candidate->address;

    if (i < connecting->n_tried) {
        close_socket(candidate);
        connecting->n_tried--;
    }
    connecting->n--;
    memmove(candidate, candidate + 1, (connecting->n - i) * sizeof(*candidate));
    connecting->failure = failure;
    connecting->attempt->address =
        connecting->n_tried > 0 ? connecting->candidates[connecting->n_tried - 1].address : address;
}

static void drop_all(struct connecting *connecting, enum failure failure)
{
    while (connecting->n > 0)
        drop(connecting, connecting->n - 1, failure);
    connecting->attempt->has_address = false;
}

/* Begins to connect to it. A socket that is connected or has failed at once is ready as well. */
static enum failure begin(struct connecting *connecting, struct candidate *candidate)
{
    struct epoll_event event = {.events = EPOLLOUT, .data.ptr = connecting};
    const uint16_t port = connecting->attempt->parsed_url.port;
    struct sockaddr_storage to;
    const socklen_t to_n = (socklen_t)address_to_socket(&candidate->address, port, &to);
    const int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return errno == EAFNOSUPPORT ? FAILURE_CONNECT : FAILURE_INTERNAL;
    if (connect(fd, (const struct sockaddr *)&to, to_n) != 0 && errno != EINPROGRESS) {
        close(fd);
        return FAILURE_CONNECT;
    }
    if (epoll_ctl(connecting->connects->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        close(fd);
        return FAILURE_INTERNAL;
    }
    candidate->fd = fd;
    return FAILURE_NONE;
}

/* Goes to the next address that has not been begun, if there is one. */
static void try_next(struct connecting *connecting)
{
    struct attempt *attempt = connecting->attempt;

    connecting->due_us = clock_mono_us() + connecting->delay_us;
    while (connecting->n_tried < connecting->n) {
        struct candidate *candidate;
        enum failure failure;

        if (connecting->n_tried == CONNECT_SOCKETS_MAX)
            drop(connecting, 0, FAILURE_TIMEOUT);
        candidate = &connecting->candidates[connecting->n_tried];
        if (!address_policy_allows(connecting->connects->options.policy, &candidate->address)) {
            drop_all(connecting, FAILURE_BLOCKED);
            return;
        }
        attempt->has_address = true;
        failure = begin(connecting, candidate);
        if (failure == FAILURE_NONE) {
            attempt->address = candidate->address;
            connecting->n_tried++;
            return;
        }
        drop(connecting, connecting->n_tried, failure);
    }
}

static void start(struct connecting *connecting)
{
    struct connects *connects = connecting->connects;
    const int64_t left_us = attempt_limit_us(connecting->attempt) - clock_mono_us();
    const int64_t each_us = left_us / 2 / (int64_t)connecting->n;

    connecting->delay_us = each_us < CONNECT_DELAY_MS * 1000 ? each_us : CONNECT_DELAY_MS * 1000;
    list_add_first(&connects->list, &connecting->link);
    try_next(connecting);
}

static void stop(struct connecting *connecting)
{
    list_remove(&connecting->link);
    while (connecting->n_tried > 0)
        close_socket(&connecting->candidates[--connecting->n_tried]);
}

/* -- beginning and ending ---------------------------------------------------------------------- */

void connects_begin(struct connects *connects, struct attempt *attempt,
                    const struct address *addresses, size_t n)
{
    struct connecting *connecting = heap_zeroed(1, sizeof(*connecting));

    must(n > 0 && n <= LOOKUP_ADDRESSES_MAX);
    connecting->connects = connects;
    connecting->attempt = attempt;
    connecting->n = n;
    for (size_t i = 0; i < n; i++)
        connecting->candidates[i] = (struct candidate){addresses[i], -1};
    attempt->connecting = connecting;
    start(connecting);
}

bool connects_can_go_on(const struct attempt *attempt)
{
    return attempt->connecting->n > 1;
}

void connects_go_on(struct connects *connects, struct attempt *attempt)
{
    struct connecting *connecting = attempt->connecting;
    size_t i = 0;

    must(!list_is_linked(&connecting->link) && connects_can_go_on(attempt));
    while (!address_equal(&connecting->candidates[i].address, &attempt->address))
        i++;
    drop(connecting, i, FAILURE_TLS);
    start(connecting);
}

void connects_release(struct attempt *attempt)
{
    if (attempt->connecting == NULL)
        return;
    stop(attempt->connecting);
    free(attempt->connecting);
    attempt->connecting = NULL;
}

/* -- what the kernel says ---------------------------------------------------------------------- */

static void report_connected(struct connecting *connecting, size_t i)
{
    const struct connects_options *options = &connecting->connects->options;
    struct attempt *attempt = connecting->attempt;
    const int fd = connecting->candidates[i].fd;

    must(epoll_ctl(connecting->connects->epoll, EPOLL_CTL_DEL, fd, NULL) == 0);
    attempt->address = connecting->candidates[i].address;
    connecting->candidates[i].fd = -1;
    stop(connecting);
    options->on_end(options->closure, attempt, fd, FAILURE_NONE);
}

static bool has_failed(int fd)
{
    int error = 0;
    socklen_t n = sizeof(error);

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0 || error != 0;
}

/* True: one is connected, and that was reported. */
static bool look(struct connecting *connecting)
{
    struct pollfd fds[CONNECT_SOCKETS_MAX];
    size_t n = connecting->n_tried, i = 0;
    bool is_next_due = false;

    for (size_t k = 0; k < n; k++)
        fds[k] = (struct pollfd){.fd = connecting->candidates[k].fd, .events = POLLOUT};
    connecting->is_ready = false;
    if (poll(fds, n, 0) <= 0)
        return false;
    for (size_t k = 0; k < n; k++) {
        if (fds[k].revents == 0) {
            i++;
        } else if (has_failed(fds[k].fd)) {
            drop(connecting, i, FAILURE_CONNECT);
            is_next_due = true;
        } else {
            report_connected(connecting, i);
            return true;
        }
    }
    if (is_next_due)
        try_next(connecting);
    return false;
}

static bool is_due(const struct connecting *connecting, int64_t now_us)
{
    return connecting->n_tried < connecting->n && now_us >= connecting->due_us;
}

static void advance(struct connecting *connecting, int64_t now_us)
{
    const struct connects_options *options = &connecting->connects->options;

    if (connecting->is_ready && look(connecting))
        return;
    if (is_due(connecting, now_us))
        try_next(connecting);
    if (connecting->n > 0)
        return;
    stop(connecting);
    options->on_end(options->closure, connecting->attempt, -1, connecting->failure);
}

/* -- the loop ---------------------------------------------------------------------------------- */

int connects_descriptor(const struct connects *connects)
{
    return connects->epoll;
}

int connects_timeout_ms(const struct connects *connects, int max_ms)
{
    const int64_t now_us = clock_mono_us();
    const struct connecting *connecting;

    LIST_EACH(connecting, &connects->list, link) {
        if (connecting->n == 0)
            return 0;
        if (connecting->n_tried < connecting->n)
            max_ms = clock_left_ms(connecting->due_us, now_us, max_ms);
    }
    return max_ms;
}

/* Callbacks add at the front of the list, so the loop does not meet what they begin. */
void connects_step(struct connects *connects)
{
    struct epoll_event events[EVENTS_MAX];
    const int n = epoll_wait(connects->epoll, events, EVENTS_MAX, 0);
    const int64_t now_us = clock_mono_us();
    struct connecting *connecting;

    for (int i = 0; i < n; i++)
        ((struct connecting *)events[i].data.ptr)->is_ready = true;
    LIST_EACH(connecting, &connects->list, link)
        advance(connecting, now_us);
}

struct connects *connects_new(const struct connects_options *options)
{
    struct connects *connects = heap_zeroed(1, sizeof(*connects));

    connects->options = *options;
    list_init(&connects->list);
    connects->epoll = epoll_create1(EPOLL_CLOEXEC);
    must(connects->epoll >= 0);
    return connects;
}

void connects_free(struct connects *connects)
{
    if (connects == NULL)
        return;
    must(list_is_empty(&connects->list));
    close(connects->epoll);
    free(connects);
}

/*
 * Moves from a server that is about to close its connections to another one, before it does.
 *
 * nats-server announces this ("lame duck mode") and accepts no more connections. While the bus dials
 * another server, the present link stays in use; if there is no other server, it does until it is
 * lost. The new link is then the one in use, for subscriptions and for requests.
 * The link that was left stays open for a while:
 *
 * - its subscriptions, until the other servers have learned of the new ones. In that time a member
 *   of a group still gets each message once; other listeners may get a message twice.
 * - for replies to requests that came over it, and for replies to requests that were sent over it.
 *
 * Then it is closed, on a thread of its own, since that may take a while.
 */
#include <poll.h>
#include <sys/epoll.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/bus/bus_internal.h"

enum {
    /* The other servers learn of a subscription within a few milliseconds. */
    OVERLAP_US = 500 * 1000,
    /* At least, for replies to requests that came over it, which no other link may carry: as long
       as a command may run, and as convctl waits. Usually the server closes the link earlier. */
    KEPT_US = 15 * 1000 * 1000,
    LEFT_US = 30000 * 1000, /* at most, for replies to requests sent over it */
    GOODBYE_US = 500 * 1000,
    STEP_MS = 500, /* how often its end is looked for */
};

/* -- reading and writing --------------------------------------------------------------------- */

/* The descriptor of a lost link may have been reused. While `link_lock` is held, nats.c does not
   close it. */
static bool is_open(const struct bus_move *move)
{
    return move->socket >= 0 && atomic_load(&move->left->socket) == move->socket;
}

static void watch(struct bus *bus, int operation, uint32_t events)
{
    struct bus_move *move = &bus->move;
    struct epoll_event event = {.events = events};

    pthread_mutex_lock(&bus->link_lock);
    if (is_open(move))
        (void)epoll_ctl(bus->changed_fd, operation, move->socket, &event);
    pthread_mutex_unlock(&bus->link_lock);
    move->events = events;
}

void bus_move_read(struct bus *bus)
{
    const struct bus_move *move = &bus->move;
    struct pollfd fd = {.fd = move->socket, .events = POLLIN};
    bool is_readable;

    if (move->left == NULL || move->closing)
        return;
    pthread_mutex_lock(&bus->link_lock);
    is_readable = is_open(move) && poll(&fd, 1, 0) == 1;
    pthread_mutex_unlock(&bus->link_lock);
    /* Read only when there is something: with TLS nats.c would wait for the rest of a record. */
    if (is_readable)
        bus_read(bus, move->left);
}

void bus_move_push(struct bus *bus)
{
    struct bus_link *const left = bus->move.left;
    uint32_t events;

    if (left == NULL || bus->move.closing)
        return;
    bus_link_push(left);
    left->blocked = atomic_load(&left->write_wanted);
    events = left->blocked ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (events != bus->move.events)
        watch(bus, EPOLL_CTL_MOD, events);
}

/* -- to another link ------------------------------------------------------------------------- */

static void leave(struct bus *bus, struct bus_link *left)
{
    const int64_t now_us = clock_mono_us();

    bus->move = (struct bus_move){
        .left = left,
        .socket = atomic_load(&left->socket),
        .drain_us = now_us + OVERLAP_US,
        .close_us = now_us + KEPT_US,
        .end_us = now_us + LEFT_US,
    };
    watch(bus, EPOLL_CTL_ADD, EPOLLIN);
}

void bus_move_adopt(struct bus *bus)
{
    struct bus_link *const before = atomic_load(&bus->link);
    struct bus_link *dialed;

    if (before == NULL || atomic_load(&bus->dialed) == NULL)
        return;
    dialed = atomic_exchange(&bus->dialed, NULL);
    bus_end_dialing(bus);
    bus_bundles_send(bus);
    bus_adopt(bus, dialed);
    bus_inbox_leave(bus);
    bus_bundles_leave(bus);
    leave(bus, before);
    LOG(LOG_INFO, "bus server is shutting down; moved to another");
}

/* -- ending the link left -------------------------------------------------------------------- */

static void *close_left(void *arg)
{
    struct bus_link *link = arg;

    bus_say_goodbye(link, clock_mono_us() + GOODBYE_US);
    bus_link_close(link);
    nats_ReleaseThreadMemory();
    atomic_store(&link->is_closed, true);
    bus_wake(link->bus);
    return NULL;
}

static void begin_closing(struct bus *bus)
{
    struct bus_move *move = &bus->move;

    watch(bus, EPOLL_CTL_DEL, 0);
    atomic_store(&move->left->closing, true);
    /* EAGAIN: the next step tries again. */
    move->closing = pthread_create(&move->closer, NULL, close_left, move->left) == 0;
}

static void end_closing(struct bus *bus)
{
    struct bus_link *const left = bus->move.left;

    pthread_join(bus->move.closer, NULL);
    bus->move.left = NULL;
    bus->move.closing = false;
    bus_link_release(left);
}

static void drain(struct bus *bus)
{
    for (struct bus_mailbox *m = bus->mailboxes; m != NULL; m = m->next)
        bus_mailbox_drain(m, bus->move.left);
    bus->move.draining = true;
}

static bool is_settled(const struct bus *bus)
{
    const struct bus_link *const left = bus->move.left;

    for (const struct bus_mailbox *m = bus->mailboxes; m != NULL; m = m->next)
        if (!bus_mailbox_is_drained(m, left))
            return false;
    return !bus_inbox_lacks_reply(bus, left) && !bus_bundles_lack_reply(bus, left);
}

static bool is_over(const struct bus *bus, int64_t now_us)
{
    const struct bus_move *move = &bus->move;

    if (!bus_link_can_call(move->left) || now_us >= move->end_us)
        return true;
    return now_us >= move->close_us && !atomic_load(&move->left->write_wanted) && is_settled(bus);
}

static void end_left(struct bus *bus)
{
    struct bus_move *move = &bus->move;
    const int64_t now_us = clock_mono_us();

    if (move->closing) {
        if (atomic_load(&move->left->is_closed))
            end_closing(bus);
        return;
    }
    if (is_over(bus, now_us)) {
        begin_closing(bus);
        return;
    }
    if (!move->draining && now_us >= move->drain_us)
        drain(bus);
}

/* One move at a time: if another server announces its end during one, its turn comes after that. */
void bus_move_step(struct bus *bus)
{
    const struct bus_link *const link = atomic_load(&bus->link);

    if (atomic_load(&bus->closing))
        return;
    if (bus->move.left != NULL)
        end_left(bus);
    else if (bus_link_can_call(link) && atomic_load(&link->is_lame) && !bus->dialing)
        bus_dial(bus);
}

int bus_move_wait_ms(const struct bus *bus, int timeout_ms)
{
    const bool needs_steps = bus->move.left != NULL && !bus->move.closing;

    return needs_steps && timeout_ms > STEP_MS ? STEP_MS : timeout_ms;
}

void bus_move_abort(struct bus *bus)
{
    if (bus->move.closing)
        end_closing(bus);
    bus->move.left = NULL;
}

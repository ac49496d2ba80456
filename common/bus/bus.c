/* Opening and closing, with the last messages. nats.c reads and writes only on the owner's thread. */

#include "common/bus/bus.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"
#include "common/bus/bus_internal.h"

enum {
    SOCKETS_MAX = 2, /* that can be waited for in addition to the bus */
    GOODBYE_MS = 500,
};

static void release(struct bus *bus)
{
    bus_bundles_send(bus);
    bus_bundles_release(bus);
    while (bus->mailboxes != NULL) {
        struct bus_mailbox *next = bus->mailboxes->next;
        bus_mailbox_free(bus->mailboxes);
        bus->mailboxes = next;
    }
    bus_free_deferred();
    nats_ReleaseThreadMemory();
    pthread_mutex_destroy(&bus->link_lock);
    for (int i = 0; i < BUS_LINKS; i++)
        sem_destroy(&bus->links[i].closed);
    close(bus->wake_fd);
    close(bus->changed_fd);
    close(bus->stop_dialing_fd);
    free(bus->inbox.silent);
    free(bus->inbox_prefix);
    free(bus);
}

static void open_events(struct bus *bus)
{
    struct epoll_event event = {.events = EPOLLIN};

    bus->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    bus->stop_dialing_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    bus->changed_fd = epoll_create1(EPOLL_CLOEXEC);
    must(bus->wake_fd >= 0 && bus->stop_dialing_fd >= 0 && bus->changed_fd >= 0);
    must(epoll_ctl(bus->changed_fd, EPOLL_CTL_ADD, bus->wake_fd, &event) == 0);
}

struct bus *bus_connect(const struct bus_options *options)
{
    struct bus *bus = heap_zeroed(1, sizeof(*bus));
    char why[BUS_WHY];

    bus->options = *options;
    if (options->tls != NULL) {
        bus->tls = *options->tls;
        bus->options.tls = &bus->tls;
    }
    bus->inbox_prefix = strdup(options->inbox_prefix != NULL ? options->inbox_prefix : "_INBOX");
    must(bus->inbox_prefix != NULL);
    open_events(bus);
    must(pthread_mutex_init(&bus->link_lock, NULL) == 0);
    for (int i = 0; i < BUS_LINKS; i++) {
        bus->links[i].bus = bus;
        atomic_init(&bus->links[i].socket, -1);
        must(sem_init(&bus->links[i].closed, 0, 0) == 0);
    }

    if (!bus_can_use(options, why)) {
        LOG(LOG_ERROR, "the settings of the bus cannot be used", log_str("error", why));
        release(bus);
        return NULL;
    }
    bus_dial(bus);
    return bus;
}

static void write_rest(struct bus_link *link, int64_t until_us)
{
    struct pollfd fd = {.events = POLLOUT};

    for (bus_link_push(link);
         atomic_load(&link->write_wanted) && bus_link_can_call(link) && clock_mono_us() < until_us;
         bus_link_push(link)) {
        fd.fd = atomic_load(&link->socket);
        (void)poll(&fd, 1, GOODBYE_MS / 10);
    }
}

static void say_goodbye(struct bus_link *link)
{
    const int64_t until_us = clock_mono_us() + GOODBYE_MS * 1000;

    write_rest(link, until_us);
    bus_say_goodbye(link, until_us);
}

void bus_free(struct bus *bus)
{
    if (bus == NULL)
        return;
    atomic_store(&bus->closing, true);
    must(eventfd_write(bus->stop_dialing_fd, 1) == 0);
    bus_end_dialing(bus);
    bus_move_abort(bus);
    (void)bus_flush(bus);
    for (int i = 0; i < BUS_LINKS; i++) {
        struct bus_link *link = &bus->links[i];

        if (link->nats == NULL)
            continue;
        if (bus_link_can_call(link))
            say_goodbye(link);
        bus_link_close(link);
        if (link == atomic_load(&bus->link))
            atomic_store(&bus->link, NULL);
        bus_link_release(link);
    }
    release(bus);
}

uint64_t bus_permission_violations(const struct bus *bus)
{
    return atomic_load(&bus->violations);
}

_Thread_local bool bus_owner_is_inside;

void bus_wake(struct bus *bus)
{
    (void)eventfd_write(bus->wake_fd, 1); /* fails only if it is already signalled */
}

int bus_socket(const struct bus *bus)
{
    const struct bus_link *link = atomic_load(&bus->link);

    return link != NULL ? atomic_load(&link->socket) : -1;
}

int bus_changed_fd(const struct bus *bus)
{
    return bus->changed_fd;
}

bool bus_changed(struct bus *bus)
{
    eventfd_t count;
    (void)eventfd_read(bus->wake_fd, &count);
    bus_move_adopt(bus);
    bus_move_read(bus);
    (void)bus_flush(bus);
    bus_bundles_deliver_unsent(bus);
    unsigned n = atomic_load(&bus->n_changes);
    bool is_another = n != bus->n_changes_seen;
    bus->n_changes_seen = n;
    return is_another;
}

void bus_read(struct bus *bus, struct bus_link *link)
{
    bus_owner_is_inside = true;
    natsConnection_ProcessReadEvent(link->nats);
    bus_owner_is_inside = false;
    bus_inbox_deliver(bus);
    bus_bundles_deliver(bus);
}

void bus_process(struct bus *bus)
{
    if (bus_is_up(bus))
        bus_read(bus, atomic_load(&bus->link));
}

void bus_push(struct bus *bus)
{
    struct bus_link *link = atomic_load(&bus->link);

    bus_bundles_send(bus);
    if (link != NULL)
        bus_link_push(link);
    bus_move_push(bus);
}

bool bus_flush(struct bus *bus)
{
    struct bus_link *link;

    bus_bundles_send(bus); /* over the link that was up when they were added */
    bus_link_step(bus);
    bus_inbox_sweep(bus);
    bus_defer_frees();
    bus_push(bus);
    link = atomic_load(&bus->link);
    if (link == NULL)
        return true;
    link->blocked = bus_link_can_call(link) && atomic_load(&link->write_wanted);
    return !link->blocked;
}

void bus_wait(struct bus *bus, int timeout_ms)
{
    bus_wait_with_sockets(bus, NULL, 0, timeout_ms);
}

void bus_wait_with_sockets(struct bus *bus, struct pollfd *others, size_t n, int timeout_ms)
{
    const bool flushed = bus_flush(bus);
    struct pollfd fds[2 + SOCKETS_MAX] = {
        {.fd = bus->changed_fd, .events = POLLIN},
        {.fd = bus_socket(bus), .events = (short)(flushed ? POLLIN : POLLIN | POLLOUT)},
    };
    int n_ready;

    must(n <= SOCKETS_MAX);
    for (size_t i = 0; i < n; i++)
        fds[2 + i] = others[i];
    timeout_ms = bus_move_wait_ms(bus, timeout_ms);
    watchdog_kick_at(clock_mono_us() + timeout_ms * INT64_C(1000));
    n_ready = poll(fds, 2 + n, timeout_ms);
    watchdog_kick();
    if (n_ready <= 0)
        return;
    for (size_t i = 0; i < n; i++)
        others[i].revents = fds[2 + i].revents;
    if (fds[0].revents != 0 && bus_changed(bus))
        return;
    /* Read only when there is something: with TLS nats.c would wait for the rest of a record. */
    if (fds[1].revents & (POLLIN | POLLHUP | POLLERR))
        bus_process(bus);
}

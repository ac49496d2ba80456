/* The owner's thread: nats.c reads and writes here and nowhere else. */
#include <poll.h>
#include <sys/eventfd.h>

#include "common/bus/bus_internal.h"

_Thread_local bool bus_owner_is_inside;

void bus_wake(struct bus *bus)
{
    (void)eventfd_write(bus->wake_fd, 1); /* fails only when it is signalled already */
}

int bus_socket(const struct bus *bus)
{
    return atomic_load(&bus->socket);
}

int bus_changed_fd(const struct bus *bus)
{
    return bus->wake_fd;
}

bool bus_changed(struct bus *bus)
{
    eventfd_t count;
    (void)eventfd_read(bus->wake_fd, &count);
    (void)bus_flush(bus);
    unsigned n = atomic_load(&bus->n_changes);
    bool is_another = n != bus->n_changes_seen;
    bus->n_changes_seen = n;
    return is_another;
}

void bus_process(struct bus *bus)
{
    if (!bus_can_call(bus))
        return;
    bus_owner_is_inside = true;
    natsConnection_ProcessReadEvent(bus->nats);
    bus_owner_is_inside = false;
    bus_inbox_deliver(bus);
}

void bus_push(struct bus *bus)
{
    if (!atomic_load(&bus->write_wanted) || !bus_can_call(bus))
        return;
    bus_owner_is_inside = true;
    natsConnection_ProcessWriteEvent(bus->nats);
    bus_owner_is_inside = false;
}

bool bus_flush(struct bus *bus)
{
    bus_link_step(bus);
    bus_inbox_sweep(bus);
    bus_defer_frees();
    bus_push(bus);
    if (!bus_can_call(bus)) {
        bus->blocked = false;
        return true;
    }
    bus->blocked = atomic_load(&bus->write_wanted);
    return !bus->blocked;
}

void bus_wait(struct bus *bus, int timeout_ms)
{
    bus_wait_with_socket(bus, -1, timeout_ms);
}

void bus_wait_with_socket(struct bus *bus, int other_socket, int timeout_ms)
{
    bool flushed = bus_flush(bus);
    struct pollfd fds[] = {
        {.fd = bus->wake_fd, .events = POLLIN},
        {.fd = bus_socket(bus), .events = (short)(flushed ? POLLIN : POLLIN | POLLOUT)},
        {.fd = other_socket, .events = POLLIN},
    };
    if (poll(fds, sizeof(fds) / sizeof(fds[0]), timeout_ms) <= 0)
        return;
    if (fds[0].revents != 0)
        (void)bus_changed(bus);
    /* Never read without need: with TLS nats.c would wait for the rest of a record. */
    if (fds[1].revents & (POLLIN | POLLHUP | POLLERR))
        bus_process(bus);
}

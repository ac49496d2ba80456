#include "common/bus/bus.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"
#include "common/bus/bus_parts.h"

enum { SOCKETS_MAX = 2 }; /* that can be waited for in addition to the bus */

static struct bus_link *in_use(const struct bus *bus)
{
    return atomic_load(&bus->links.in_use);
}

/* -- opening and closing ------------------------------------------------------------------------- */

/* What this step has collected. */
static void send_collected(struct bus *bus)
{
    requests_send(&bus->requests);
    replies_send(&bus->replies, in_use(bus));
}

static void release(struct bus *bus)
{
    links_close(&bus->links);
    send_collected(bus); /* frees it */
    requests_release(&bus->requests);
    subscriptions_free(&bus->subscriptions);
    links_release(&bus->links);
    message_free_deferred();
    nats_ReleaseThreadMemory();
    free(bus->inbox_prefix);
    free(bus);
}

struct bus *bus_connect(const struct bus_options *options)
{
    struct bus *bus = heap_zeroed(1, sizeof(*bus));
    char why[BUS_WHY];

    bus->options = *options;
    if (options->settings != NULL) {
        bus->settings = *options->settings;
        bus->options.settings = &bus->settings;
    }
    bus->inbox_prefix = strdup(options->inbox_prefix != NULL ? options->inbox_prefix : "_INBOX");
    must(bus->inbox_prefix != NULL);
    bus->subscriptions.taker = bus;
    replies_init(&bus->replies, bus);
    links_init(&bus->links, &bus->options, &bus->subscriptions, &bus->requests);
    requests_init(&bus->requests, bus->links.wake_fd);
    if (!bus_can_use(options, why)) {
        LOG(LOG_ERROR, "the settings of the bus cannot be used", log_str("error", why));
        links_end(&bus->links);
        release(bus);
        return NULL;
    }
    links_dial(&bus->links);
    return bus;
}

void bus_free(struct bus *bus)
{
    if (bus == NULL)
        return;
    links_end(&bus->links);
    (void)bus_flush(bus);
    release(bus);
}

void bus_wipe_what_is_freed(void)
{
    bundle_wipe_what_is_freed();
}

void bus_metrics_open(void)
{
    links_metrics_open();
}

/* -- its state ----------------------------------------------------------------------------------- */

bool bus_is_up(const struct bus *bus)
{
    return link_can_call(in_use(bus));
}

enum bus_trouble bus_trouble(const struct bus *bus)
{
    return bus_is_up(bus) ? BUS_UP : atomic_load(&bus->links.dialer.trouble);
}

const char *bus_trouble_text(enum bus_trouble trouble)
{
    static const char *const texts[] = {
        [BUS_UNREACHABLE] = "the bus is unreachable",
        [BUS_DENIED] = "the bus refused the credentials",
        [BUS_SMALL] = "max_payload of the bus is below 8MB",
        [BUS_UP] = NULL,
    };

    return texts[trouble];
}

uint64_t bus_permission_violations(const struct bus *bus)
{
    return atomic_load(&bus->links.denials);
}

uint64_t bus_lost_replies(const struct bus *bus)
{
    return atomic_load(&bus->replies.n_lost);
}

/* -- driving it ---------------------------------------------------------------------------------- */

void bus_wake(struct bus *bus)
{
    (void)eventfd_write(bus->links.wake_fd, 1); /* fails only if it is already signalled */
}

int bus_socket(const struct bus *bus)
{
    const struct bus_link *link = in_use(bus);

    return link != NULL ? atomic_load(&link->socket) : -1;
}

int bus_changed_fd(const struct bus *bus)
{
    return bus->links.changed_fd;
}

bool bus_changed(struct bus *bus)
{
    eventfd_t count;
    (void)eventfd_read(bus->links.wake_fd, &count);
    links_move(&bus->links);
    links_read_left(&bus->links);
    (void)bus_flush(bus);
    requests_deliver_unsent(&bus->requests);
    unsigned n = atomic_load(&bus->links.n_changes);
    bool is_another = n != bus->n_changes_seen;
    bus->n_changes_seen = n;
    return is_another;
}

void bus_process(struct bus *bus)
{
    links_read(&bus->links);
}

void bus_push(struct bus *bus)
{
    send_collected(bus);
    links_push(&bus->links);
}

bool bus_flush(struct bus *bus)
{
    send_collected(bus); /* over the link that was up when they were added */
    links_step(&bus->links);
    requests_sweep(&bus->requests);
    message_defer_frees();
    bus_push(bus);
    return links_are_flushed(&bus->links);
}

void bus_wait(struct bus *bus, int timeout_ms)
{
    bus_wait_with_sockets(bus, NULL, 0, timeout_ms);
}

void bus_wait_with_sockets(struct bus *bus, struct pollfd *others, size_t n, int timeout_ms)
{
    const bool flushed = bus_flush(bus);
    struct pollfd fds[2 + SOCKETS_MAX] = {
        {.fd = bus->links.changed_fd, .events = POLLIN},
        {.fd = bus_socket(bus), .events = (short)(flushed ? POLLIN : POLLIN | POLLOUT)},
    };
    int n_ready;

    must(n <= SOCKETS_MAX);
    for (size_t i = 0; i < n; i++)
        fds[2 + i] = others[i];
    timeout_ms = links_wait_ms(&bus->links, timeout_ms);
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

/* -- messages ------------------------------------------------------------------------------------ */

struct bus_mailbox *bus_serve(struct bus *bus, const char *subject, const char *group)
{
    return subscriptions_add(&bus->subscriptions, subject, group, NULL, NULL);
}

void bus_listen(struct bus *bus, const char *subject, bus_notice_fn on_notice, void *closure)
{
    (void)subscriptions_add(&bus->subscriptions, subject, NULL, on_notice, closure);
}

enum status bus_publish(struct bus *bus, const char *subject, const char *reply_to,
                        const struct bus_header *headers, size_t n_headers, struct str body)
{
    return link_publish(in_use(bus), subject, reply_to, headers, n_headers, body);
}

enum status bus_reply(struct bus *bus, struct bus_message *request,
                      const struct bus_header *headers, size_t n_headers, struct str body)
{
    return replies_add(&bus->replies, in_use(bus), request, headers, n_headers, body);
}

void bus_open_inbox(struct bus *bus, bus_reply_fn on_reply, bus_awaited_fn is_awaited,
                    void *closure)
{
    requests_open(&bus->requests, bus->inbox_prefix, on_reply, is_awaited, closure);
}

enum status bus_request(struct bus *bus, const char *subject, uint64_t handle,
                        const struct bus_header *headers, size_t n_headers, struct str body)
{
    return requests_add(&bus->requests, subject, handle, headers, n_headers, body);
}

enum status bus_send_heartbeat(struct bus *bus, uint64_t handle)
{
    return requests_heartbeat(&bus->requests, handle);
}

/* Opening and closing: the options for nats.c, and sending the last messages. nats.c reads and
   writes only on the owner's thread. */

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
#include "common/bus/bus_internal.h"

enum {
    CONNECT_TIMEOUT_MS = 1000,
    PING_INTERVAL_MS = 5000,
    PINGS_OUT_MAX = 2,
    SOCKETS_MAX = 2,          /* that can be waited for in addition to the bus */
    WRITE_DEADLINE_MS = 2000, /* TLS only: with it nats.c waits for the socket to be writable */
    IO_BUFFER = 128 * 1024,
    SERVERS_MAX = 16,
    GOODBYE_MS = 500,
};

/* Several URLs are separated by commas; nats.c ignores their scheme. */
static natsStatus set_servers(natsOptions *options, const char *urls, bool *tls)
{
    const char *servers[SERVERS_MAX];
    int n = 0;
    char *copy = strdup(urls);
    must(copy != NULL);
    char *rest = copy;
    for (char *url; n < SERVERS_MAX && (url = strtok_r(rest, ", ", &rest)) != NULL; n++) {
        *tls = *tls || strncmp(url, "tls://", 6) == 0;
        servers[n] = url;
    }
    natsStatus s = n > 0 ? natsOptions_SetServers(options, servers, n) : NATS_INVALID_ARG;
    free(copy);
    return s;
}

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static bool wants_tls(const struct bus_tls *tls)
{
    return is_given(tls->ca_file) || is_given(tls->cert_file) || is_given(tls->key_file) ||
           is_given(tls->host);
}

/* The server's certificate is always verified, for the URL's host unless another is given. */
static natsStatus set_tls(natsOptions *options, const struct bus_tls *tls)
{
    natsStatus s = natsOptions_SetSecure(options, true);
    if (s == NATS_OK && is_given(tls->ca_file))
        s = natsOptions_LoadCATrustedCertificates(options, tls->ca_file);
    if (s == NATS_OK && (is_given(tls->cert_file) || is_given(tls->key_file)))
        s = natsOptions_LoadCertificatesChain(options, tls->cert_file, tls->key_file);
    if (s == NATS_OK && is_given(tls->host))
        s = natsOptions_SetExpectedHostname(options, tls->host);
    if (s == NATS_OK)
        s = natsOptions_SetWriteDeadline(options, WRITE_DEADLINE_MS);
    return s;
}

/* How a lost connection behaves: with a buffer of 0 bytes, publishing fails until it is back, so
   that nothing is kept for later. */
static natsStatus set_reconnecting(natsOptions *o)
{
    natsStatus s = natsOptions_SetAllowReconnect(o, true);
    if (s == NATS_OK)
        s = natsOptions_SetMaxReconnect(o, -1);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectWait(o, RECONNECT_WAIT_MS);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectJitter(o, RECONNECT_JITTER_MS, RECONNECT_JITTER_MS);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectBufSize(o, 0);
    if (s == NATS_OK)
        s = natsOptions_SetFailRequestsOnDisconnect(o, true);
    return s;
}

/* These fail only on bad arguments or lack of memory; any failure is fatal. */
static natsStatus set_behaviour(natsOptions *o, const char *name)
{
    natsStatus s = natsOptions_SetName(o, name);
    if (s == NATS_OK)
        s = natsOptions_SetTimeout(o, CONNECT_TIMEOUT_MS);
    if (s == NATS_OK)
        s = set_reconnecting(o);
    if (s == NATS_OK)
        s = natsOptions_SetPingInterval(o, PING_INTERVAL_MS);
    if (s == NATS_OK)
        s = natsOptions_SetMaxPingsOut(o, PINGS_OUT_MAX);
    if (s == NATS_OK)
        s = natsOptions_SetIOBufSize(o, IO_BUFFER);
    /* No flusher thread, which would wait a millisecond before each write. */
    if (s == NATS_OK)
        s = natsOptions_SetSendAsap(o, true);
    return s;
}

static natsStatus set_options(struct bus *bus, const struct bus_options *options)
{
    const struct bus_tls *given = options->tls != NULL ? options->tls : &(struct bus_tls){0};
    bool tls = wants_tls(given);
    natsStatus s = natsOptions_Create(&bus->options);
    if (s == NATS_OK)
        s = set_servers(bus->options, options->url, &tls);
    if (s == NATS_OK && tls)
        s = set_tls(bus->options, given);
    if (s == NATS_OK)
        s = set_behaviour(bus->options, options->name);
    return s;
}

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
    natsOptions_Destroy(bus->options);
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
    bus->on_link = options->on_link;
    bus->on_link_closure = options->closure;
    bus->inbox_prefix = strdup(options->inbox_prefix != NULL ? options->inbox_prefix : "_INBOX");
    must(bus->inbox_prefix != NULL);
    open_events(bus);
    must(pthread_mutex_init(&bus->link_lock, NULL) == 0);
    for (int i = 0; i < BUS_LINKS; i++) {
        bus->links[i].bus = bus;
        atomic_init(&bus->links[i].socket, -1);
        must(sem_init(&bus->links[i].closed, 0, 0) == 0);
    }

    natsStatus s = set_options(bus, options);
    if (s != NATS_OK) {
        LOG(LOG_ERROR, "invalid bus options", log_str("error", natsStatus_GetText(s)));
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
    bus_end_dialing(bus);
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
    bus_bundles_heed_denials(bus);
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
    if (bus_can_call(bus))
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

    must(n <= SOCKETS_MAX);
    for (size_t i = 0; i < n; i++)
        fds[2 + i] = others[i];
    if (poll(fds, 2 + n, timeout_ms) <= 0)
        return;
    for (size_t i = 0; i < n; i++)
        others[i].revents = fds[2 + i].revents;
    if (fds[0].revents != 0 && bus_changed(bus))
        return;
    /* Read only when there is something: with TLS nats.c would wait for the rest of a record. */
    if (fds[1].revents & (POLLIN | POLLHUP | POLLERR))
        bus_process(bus);
}

/* Opening and closing: the options given to nats.c, and how the last messages get out. */
/* The owner's thread: nats.c reads and writes here and nowhere else. */

#include "common/bus/bus.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/bus/bus_internal.h"

enum {
    CONNECT_TIMEOUT_MS = 1000,
    PING_INTERVAL_MS = 5000,
    PINGS_OUT_MAX = 2,
    SOCKETS_MAX = 2,          /* that one waits for beside the bus */
    WRITE_DEADLINE_MS = 2000, /* TLS only: there nats.c waits for the socket to be writable */
    IO_BUFFER = 128 * 1024,
    SERVERS_MAX = 16,
    GOODBYE_MS = 500,
};

/* Several URLs are separated by commas; nats.c does not look at their scheme. */
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

/* The server's certificate is always checked, and against the URL's host unless told otherwise. */
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

/* What a connection that is lost becomes: 0 bytes of a buffer for that time refuse to publish, so
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
    if (s == NATS_OK)
        s = bus_set_callbacks(bus, bus->options);
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
    sem_destroy(&bus->closed);
    close(bus->wake_fd);
    close(bus->stop_dialing_fd);
    free(bus->inbox_prefix);
    free(bus);
}

struct bus *bus_connect(const struct bus_options *options)
{
    struct bus *bus = heap_zeroed(1, sizeof(*bus));
    bus->on_link = options->on_link;
    bus->on_link_closure = options->closure;
    bus->inbox_prefix = strdup(options->inbox_prefix != NULL ? options->inbox_prefix : "_INBOX");
    bus->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    bus->stop_dialing_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    must(bus->inbox_prefix != NULL && bus->wake_fd >= 0 && bus->stop_dialing_fd >= 0);
    must(sem_init(&bus->closed, 0, 0) == 0);
    must(pthread_mutex_init(&bus->link_lock, NULL) == 0);
    atomic_init(&bus->socket, -1);

    natsStatus s = set_options(bus, options);
    if (s != NATS_OK) {
        LOG(LOG_ERROR, "invalid bus options", log_str("error", natsStatus_GetText(s)));
        release(bus);
        return NULL;
    }
    bus_dial(bus);
    return bus;
}

/* Closing a socket that has unread bytes throws away what it sent and the server did not read yet.
   So: end our side, and wait until the server, having read all, ends its own. */
static void say_goodbye(struct bus *bus)
{
    int64_t until_us = clock_mono_us() + GOODBYE_MS * 1000;
    /* A copy, for nats.c closes its own when the link is lost. */
    struct pollfd fd = {.fd = fcntl(bus_socket(bus), F_DUPFD_CLOEXEC, 0), .events = POLLOUT};
    char dropped[4096];

    /* Without one (the link has just been lost, or there are too many files) poll() ignores it: the
       last messages are still written, but nothing tells when the server has read them. */
    while (!bus_flush(bus) && clock_mono_us() < until_us)
        (void)poll(&fd, 1, GOODBYE_MS / 10);
    if (fd.fd < 0)
        return;
    shutdown(fd.fd, SHUT_WR);
    fd.events = POLLIN;
    for (int64_t left_us; (left_us = until_us - clock_mono_us()) > 0;) {
        if (poll(&fd, 1, (int)(left_us / 1000) + 1) == 1 &&
            recv(fd.fd, dropped, sizeof(dropped), MSG_DONTWAIT) <= 0)
            break;
    }
    close(fd.fd);
}

void bus_free(struct bus *bus)
{
    if (bus == NULL)
        return;
    atomic_store(&bus->closing, true);
    must(eventfd_write(bus->stop_dialing_fd, 1) == 0);
    bus_end_dialing(bus);
    bus_link_step(bus);
    if (bus_can_call(bus))
        say_goodbye(bus);
    if (bus->nats != NULL)
        bus_let_go(bus);
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
    bus_bundles_heed_denials(bus);
    (void)bus_flush(bus);
    bus_bundles_deliver_unsent(bus);
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
    bus_bundles_deliver(bus);
}

void bus_push(struct bus *bus)
{
    bus_bundles_send(bus);
    if (!atomic_load(&bus->write_wanted) || !bus_can_call(bus))
        return;
    bus_owner_is_inside = true;
    natsConnection_ProcessWriteEvent(bus->nats);
    bus_owner_is_inside = false;
}

bool bus_flush(struct bus *bus)
{
    bus_bundles_send(bus); /* over the link that was up when it was asked for */
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
    bus_wait_with_sockets(bus, NULL, 0, timeout_ms);
}

void bus_wait_with_sockets(struct bus *bus, struct pollfd *others, size_t n, int timeout_ms)
{
    const bool flushed = bus_flush(bus);
    struct pollfd fds[2 + SOCKETS_MAX] = {
        {.fd = bus->wake_fd, .events = POLLIN},
        {.fd = bus_socket(bus), .events = (short)(flushed ? POLLIN : POLLIN | POLLOUT)},
    };

    must(n <= SOCKETS_MAX);
    for (size_t i = 0; i < n; i++)
        fds[2 + i] = others[i];
    if (poll(fds, 2 + n, timeout_ms) <= 0)
        return;
    for (size_t i = 0; i < n; i++)
        others[i].revents = fds[2 + i].revents;
    if (fds[0].revents != 0)
        (void)bus_changed(bus);
    /* Never read without need: with TLS nats.c would wait for the rest of a record. */
    if (fds[1].revents & (POLLIN | POLLHUP | POLLERR))
        bus_process(bus);
}

/*
 * The connection's life: dialed on its own thread, adopted by the owner, kept up by nats.c through
 * every loss, and redialed when nats.c gives it up.
 *
 * nats.c could make the first connection in the background too, but 3.4.1 gives up for good when a
 * server takes the first TCP connection and then stays silent or refuses the user, and later when
 * one refuses the user twice. Here neither ends anything.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/bus/bus_internal.h"

/* -- what nats.c tells, on its own threads and often under its lock ----------------------- */

static void tell_link(struct bus *bus)
{
    pthread_mutex_lock(&bus->link_lock);
    bool up = bus_is_up(bus);
    if (up != bus->link_told) {
        bus->link_told = up;
        if (bus->on_link != NULL)
            bus->on_link(bus->on_link_closure, up);
    }
    pthread_mutex_unlock(&bus->link_lock);
}

static void set_socket(struct bus *bus, int socket)
{
    atomic_store(&bus->socket, socket);
    atomic_fetch_add(&bus->n_changes, 1);
    tell_link(bus);
    bus_wake(bus);
}

static natsStatus on_attach(void **user_data, void *loop, natsConnection *nats, natsSock socket)
{
    struct bus *bus = loop;
    *user_data = bus;
    set_socket(bus, (int)socket);
    return NATS_OK;
}

/* Only ever called to stop: the link is lost or closed. */
static natsStatus on_read(void *user_data, bool add)
{
    struct bus *bus = user_data;
    if (!add)
        set_socket(bus, -1);
    return NATS_OK;
}

static natsStatus on_write(void *user_data, bool add)
{
    struct bus *bus = user_data;
    atomic_store(&bus->write_wanted, add);
    if (add && !bus_owner_is_inside)
        bus_wake(bus);
    return NATS_OK;
}

/* May come after the bus is gone. */
static natsStatus on_detach(void *user_data)
{
    return NATS_OK;
}

static void on_disconnected(natsConnection *nats, void *closure)
{
    struct bus *bus = closure;
    if (!atomic_load(&bus->closing))
        LOG(LOG_WARNING, "bus connection lost; reconnecting");
}

static void on_reconnected(natsConnection *nats, void *closure)
{
    LOG(LOG_WARNING, "bus connection is up again");
}

static void on_closed(natsConnection *nats, void *closure)
{
    struct bus *bus = closure;
    if (!atomic_load(&bus->closing)) {
        LOG(LOG_ERROR, "bus connection closed by the server; reconnecting");
        atomic_store(&bus->ended, true);
        bus_wake(bus);
    }
    sem_post(&bus->closed);
}

static struct metric *violations; /* of all buses of the process */

void bus_metrics_open(void)
{
    violations = metric_counter("conversations_bus_permission_violations_total", NULL,
                                "Messages and subscriptions that the bus denied");
}

static void note_denial(struct bus *bus, const char *text)
{
    struct bus_denial *denial;

    pthread_mutex_lock(&bus->link_lock);
    if (bus->n_denials < BUS_DENIALS_MAX) {
        denial = &bus->denials[bus->n_denials++];
        denial->link = atomic_load(&bus->n_changes);
        (void)snprintf(denial->text, sizeof(denial->text), "%s", text);
    }
    pthread_mutex_unlock(&bus->link_lock);
    atomic_fetch_add(&bus->unpublished, 1);
}

/* The server's words name the subject. */
static void note_violation(struct bus *bus)
{
    const char *text = nats_GetLastError(NULL);

    atomic_fetch_add(&bus->violations, 1);
    if (text != NULL && strcasestr(text, "for publish") != NULL)
        note_denial(bus, text);
    bus_wake(bus); /* for the thread that waits for a reply */
    if (violations != NULL)
        metric_add(violations, 1);
    LOG(LOG_ERROR, "bus denied a permission of this user",
        log_str("error", text != NULL ? text : "permission violation"));
}

static void on_error(natsConnection *nats, natsSubscription *sub, natsStatus error, void *closure)
{
    struct bus *bus = closure;
    if (error == NATS_NOT_PERMITTED)
        note_violation(bus);
    else
        LOG(LOG_WARNING, "bus reports an error", log_str("error", natsStatus_GetText(error)));
}

natsStatus bus_set_callbacks(struct bus *bus, natsOptions *o)
{
    natsStatus s = natsOptions_SetEventLoop(o, bus, on_attach, on_read, on_write, on_detach);
    if (s == NATS_OK)
        s = natsOptions_SetDisconnectedCB(o, on_disconnected, bus);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectedCB(o, on_reconnected, bus);
    if (s == NATS_OK)
        s = natsOptions_SetClosedCB(o, on_closed, bus);
    if (s == NATS_OK)
        s = natsOptions_SetErrorHandler(o, on_error, bus);
    return s;
}

/* -- dialing --------------------------------------------------------------------------------- */

static void *dial(void *arg)
{
    struct bus *bus = arg;
    natsStatus reported = NATS_OK;
    for (;;) {
        natsConnection *nats = NULL;
        natsStatus s = natsConnection_Connect(&nats, bus->options);
        atomic_store(&bus->is_denied, s == NATS_CONNECTION_AUTH_FAILED);
        if (s == NATS_OK) {
            atomic_store(&bus->dialed, nats);
            bus_wake(bus);
            break;
        }
        if (s != reported)
            LOG(LOG_WARNING, "bus is unreachable; retrying",
                log_str("error", natsStatus_GetText(s)));
        reported = s;
        if (s == NATS_CONNECTION_AUTH_FAILED)
            bus_wake(bus);
        struct pollfd stop = {.fd = bus->stop_dialing_fd, .events = POLLIN};
        int jitter_ms = (int)(clock_mono_us() % RECONNECT_JITTER_MS);
        if (poll(&stop, 1, RECONNECT_WAIT_MS + jitter_ms) > 0)
            break;
    }
    nats_ReleaseThreadMemory();
    return NULL;
}

void bus_dial(struct bus *bus)
{
    must(pthread_create(&bus->dialer, NULL, dial, bus) == 0);
    bus->dialing = true;
}

void bus_end_dialing(struct bus *bus)
{
    if (bus->dialing)
        pthread_join(bus->dialer, NULL);
    bus->dialing = false;
}

static void adopt(struct bus *bus, natsConnection *nats)
{
    bus_end_dialing(bus);
    bus->nats = nats;
    for (struct bus_mailbox *m = bus->mailboxes; m != NULL; m = m->next)
        bus_mailbox_attach(m);
    atomic_store(&bus->adopted, true);
    tell_link(bus);
}

void bus_let_go(struct bus *bus)
{
    natsConnection_Close(bus->nats);
    for (struct bus_mailbox *m = bus->mailboxes; m != NULL; m = m->next)
        bus_mailbox_detach(m);
    bus_inbox_close(bus);
    bus_bundles_close(bus);
    while (sem_wait(&bus->closed) != 0)
        ; /* interrupted by a signal */
    natsConnection_Destroy(bus->nats);
    bus->nats = NULL;
    atomic_store(&bus->adopted, false);
    atomic_store(&bus->ended, false);
    atomic_store(&bus->write_wanted, false);
    bus->blocked = false;
    tell_link(bus);
}

void bus_link_step(struct bus *bus)
{
    if (atomic_load(&bus->dialed) != NULL)
        adopt(bus, atomic_exchange(&bus->dialed, NULL));
    if (atomic_load(&bus->ended) && bus->nats != NULL) {
        bus_let_go(bus);
        if (!atomic_load(&bus->closing))
            bus_dial(bus);
    }
}

bool bus_is_up(const struct bus *bus)
{
    return atomic_load(&bus->adopted) && atomic_load(&bus->socket) >= 0;
}

bool bus_is_denied(const struct bus *bus)
{
    return atomic_load(&bus->is_denied);
}

bool bus_can_call(const struct bus *bus)
{
    return bus->nats != NULL && atomic_load(&bus->socket) >= 0;
}

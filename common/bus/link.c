/*
 * The life of a connection: dialed on a thread of its own, adopted by the owner, restored by nats.c
 * whenever it is lost, and dialed again when nats.c gives it up.
 *
 * nats.c could make the first connection in the background, too, but version 3.4.1 gives up for good
 * when a server accepts the first TCP connection and then stays silent or refuses the user, and later
 * when a server refuses the user twice. Here dialing continues in all of these cases.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* For a link that is not in use yet, bus_adopt() reports the change. nats.c closes a lost socket
   after this call. */
static void set_socket(struct bus_link *link, int socket)
{
    struct bus *const bus = link->bus;
    const struct bus_link *in_use;

    pthread_mutex_lock(&bus->link_lock);
    atomic_store(&link->socket, socket);
    pthread_mutex_unlock(&bus->link_lock);
    in_use = atomic_load(&bus->link);
    if (in_use == NULL || in_use == link)
        atomic_fetch_add(&bus->n_changes, 1);
    tell_link(bus);
    bus_wake(bus);
}

static natsStatus on_attach(void **user_data, void *loop, natsConnection *nats, natsSock socket)
{
    struct bus_link *link = loop;
    *user_data = link;
    atomic_store(&link->is_lame, false);
    set_socket(link, (int)socket);
    return NATS_OK;
}

/* Called only to stop reading: the link is lost or closed. */
static natsStatus on_read(void *user_data, bool add)
{
    struct bus_link *link = user_data;
    if (!add)
        set_socket(link, -1);
    return NATS_OK;
}

static natsStatus on_write(void *user_data, bool add)
{
    struct bus_link *link = user_data;
    atomic_store(&link->write_wanted, add);
    if (add && !bus_owner_is_inside)
        bus_wake(link->bus);
    return NATS_OK;
}

/* May come after the bus is gone. */
static natsStatus on_detach(void *user_data)
{
    return NATS_OK;
}

static bool is_closing(const struct bus_link *link)
{
    return atomic_load(&link->closing) || atomic_load(&link->bus->closing);
}

static void on_disconnected(natsConnection *nats, void *closure)
{
    const struct bus_link *link = closure;
    if (!is_closing(link))
        LOG(LOG_WARNING, "bus connection lost; reconnecting");
}

static void on_reconnected(natsConnection *nats, void *closure)
{
    LOG(LOG_WARNING, "bus connection is up again");
}

static void on_lame(natsConnection *nats, void *closure)
{
    struct bus_link *link = closure;
    atomic_store(&link->is_lame, true);
    bus_wake(link->bus);
}

static void on_closed(natsConnection *nats, void *closure)
{
    struct bus_link *link = closure;
    if (!is_closing(link)) {
        LOG(LOG_ERROR, "bus connection closed by the server; reconnecting");
        atomic_store(&link->ended, true);
        bus_wake(link->bus);
    }
    sem_post(&link->closed);
}

static struct metric *violations; /* of all buses of the process */

void bus_metrics_open(void)
{
    violations = metric_counter("conversations_bus_permission_violations_total", NULL,
                                "Messages and subscriptions that the bus denied");
}

static void note_denial(const struct bus_link *link, const char *text)
{
    struct bus *const bus = link->bus;
    struct bus_denial *denial;

    pthread_mutex_lock(&bus->link_lock);
    if (bus->n_denials < BUS_DENIALS_MAX) {
        denial = &bus->denials[bus->n_denials++];
        denial->link = link == atomic_load(&bus->link) ? atomic_load(&bus->n_changes) : 0;
        (void)snprintf(denial->text, sizeof(denial->text), "%s", text);
    }
    pthread_mutex_unlock(&bus->link_lock);
    atomic_fetch_add(&bus->unpublished, 1);
}

/* The server's error text names the subject. */
static void note_violation(const struct bus_link *link)
{
    struct bus *const bus = link->bus;
    const char *text = nats_GetLastError(NULL);

    atomic_fetch_add(&bus->violations, 1);
    if (text != NULL && strcasestr(text, "for publish") != NULL)
        note_denial(link, text);
    bus_wake(bus); /* for the thread that waits for a reply */
    if (violations != NULL)
        metric_add(violations, 1);
    LOG(LOG_ERROR, "bus denied a permission of this user",
        log_str("error", text != NULL ? text : "permission violation"));
}

static void on_error(natsConnection *nats, natsSubscription *sub, natsStatus error, void *closure)
{
    const struct bus_link *link = closure;
    if (error == NATS_NOT_PERMITTED)
        note_violation(link);
    else
        LOG(LOG_WARNING, "bus reports an error", log_str("error", natsStatus_GetText(error)));
}

static natsStatus set_callbacks(struct bus_link *link, natsOptions *o)
{
    natsStatus s = natsOptions_SetEventLoop(o, link, on_attach, on_read, on_write, on_detach);
    if (s == NATS_OK)
        s = natsOptions_SetDisconnectedCB(o, on_disconnected, link);
    if (s == NATS_OK)
        s = natsOptions_SetReconnectedCB(o, on_reconnected, link);
    if (s == NATS_OK)
        s = natsOptions_SetClosedCB(o, on_closed, link);
    if (s == NATS_OK)
        s = natsOptions_SetLameDuckModeCB(o, on_lame, link);
    if (s == NATS_OK)
        s = natsOptions_SetErrorHandler(o, on_error, link);
    return s;
}

/* -- dialing --------------------------------------------------------------------------------- */

/* A lost link that nats.c has restored by itself needs no replacement. */
static bool is_needless(const struct bus_link *from)
{
    return from != NULL && !atomic_load(&from->is_lame);
}

/* True: the dialer's work is done. */
static bool try_to_connect(struct bus *bus, natsStatus *reported)
{
    const natsStatus s = natsConnection_Connect(&bus->dial_to->nats, bus->options);

    atomic_store(&bus->is_denied, s == NATS_CONNECTION_AUTH_FAILED);
    if (s == NATS_OK) {
        atomic_store(&bus->dialed, bus->dial_to);
        bus_wake(bus);
        return true;
    }
    if (s != *reported && bus->dial_from == NULL)
        LOG(LOG_WARNING, "bus is unreachable; retrying", log_str("error", natsStatus_GetText(s)));
    *reported = s;
    if (s == NATS_CONNECTION_AUTH_FAILED)
        bus_wake(bus);
    return false;
}

static void *dial(void *arg)
{
    struct bus *bus = arg;
    natsStatus reported = NATS_OK;
    while (!try_to_connect(bus, &reported)) {
        struct pollfd stop = {.fd = bus->stop_dialing_fd, .events = POLLIN};
        int jitter_ms = (int)(clock_mono_us() % RECONNECT_JITTER_MS);
        if (poll(&stop, 1, RECONNECT_WAIT_MS + jitter_ms) > 0)
            break;
        if (is_needless(bus->dial_from)) {
            atomic_store(&bus->has_given_up, true);
            bus_wake(bus);
            break;
        }
    }
    nats_ReleaseThreadMemory();
    return NULL;
}

/* nats.c copies the options. */
void bus_dial(struct bus *bus)
{
    struct bus_link *const in_use = atomic_load(&bus->link);

    bus->dial_from = in_use;
    bus->dial_to = &bus->links[bus->links[0].nats != NULL];
    must(bus->dial_to->nats == NULL);
    must(set_callbacks(bus->dial_to, bus->options) == NATS_OK);
    atomic_store(&bus->has_given_up, false);
    must(pthread_create(&bus->dialer, NULL, dial, bus) == 0);
    bus->dialing = true;
}

void bus_end_dialing(struct bus *bus)
{
    if (bus->dialing)
        pthread_join(bus->dialer, NULL);
    bus->dialing = false;
}

void bus_adopt(struct bus *bus, struct bus_link *link)
{
    for (struct bus_mailbox *m = bus->mailboxes; m != NULL; m = m->next)
        bus_mailbox_attach(m, link);
    atomic_store(&bus->link, link);
    atomic_fetch_add(&bus->n_changes, 1);
    tell_link(bus);
}

/* -- closing --------------------------------------------------------------------------------- */

/* A copy, since nats.c closes its own when the link is lost. -1: there is none, or too many files
   are open. */
static int copy_socket(const struct bus_link *link)
{
    int copy;

    pthread_mutex_lock(&link->bus->link_lock);
    copy = fcntl(atomic_load(&link->socket), F_DUPFD_CLOEXEC, 0);
    pthread_mutex_unlock(&link->bus->link_lock);
    return copy;
}

/* Closing a socket with unread bytes would discard what it has sent and the server has not read
   yet. */
void bus_say_goodbye(const struct bus_link *link, int64_t until_us)
{
    struct pollfd fd = {.fd = copy_socket(link), .events = POLLIN};
    char dropped[4096];

    if (fd.fd < 0)
        return; /* no way to see when the server has read everything */
    shutdown(fd.fd, SHUT_WR);
    for (int64_t left_us; (left_us = until_us - clock_mono_us()) > 0;) {
        if (poll(&fd, 1, (int)(left_us / 1000) + 1) == 1 &&
            recv(fd.fd, dropped, sizeof(dropped), MSG_DONTWAIT) <= 0)
            break;
    }
    close(fd.fd);
}

void bus_link_close(struct bus_link *link)
{
    natsConnection_Close(link->nats);
    while (sem_wait(&link->closed) != 0)
        ; /* interrupted by a signal */
}

void bus_link_release(struct bus_link *link)
{
    struct bus *const bus = link->bus;

    for (struct bus_mailbox *m = bus->mailboxes; m != NULL; m = m->next)
        bus_mailbox_detach(m, link);
    bus_inbox_close(bus, link);
    bus_bundles_close(bus, link);
    natsConnection_Destroy(link->nats);
    link->nats = NULL;
    atomic_store(&link->write_wanted, false);
    atomic_store(&link->is_lame, false);
    atomic_store(&link->ended, false);
    atomic_store(&link->closing, false);
    atomic_store(&link->is_closed, false);
    link->blocked = false;
}

static void give_up(struct bus *bus, struct bus_link *ended)
{
    bus_link_close(ended);
    atomic_store(&bus->link, NULL);
    bus_link_release(ended);
    tell_link(bus);
}

void bus_link_step(struct bus *bus)
{
    struct bus_link *link = atomic_load(&bus->link);

    if (link != NULL && atomic_load(&link->ended))
        give_up(bus, link);
    if (atomic_load(&bus->has_given_up))
        bus_end_dialing(bus);
    if (atomic_load(&bus->link) == NULL && atomic_load(&bus->dialed) != NULL) {
        bus_end_dialing(bus);
        bus_adopt(bus, atomic_exchange(&bus->dialed, NULL));
    }
    if (atomic_load(&bus->link) == NULL && !bus->dialing && !atomic_load(&bus->closing))
        bus_dial(bus);
    bus_move_step(bus);
}

bool bus_is_up(const struct bus *bus)
{
    return bus_link_can_call(atomic_load(&bus->link));
}

bool bus_is_denied(const struct bus *bus)
{
    return atomic_load(&bus->is_denied);
}

bool bus_link_can_call(const struct bus_link *link)
{
    return link != NULL && atomic_load(&link->socket) >= 0;
}

bool bus_can_call(const struct bus *bus)
{
    return bus_link_can_call(atomic_load(&bus->link));
}

struct bus_link *bus_link_for_reply(struct bus *bus, struct bus_link *via)
{
    const bool is_of_use = via != NULL && via->bus == bus && !atomic_load(&via->closing) &&
                           bus_link_can_call(via) &&
                           (via == atomic_load(&bus->link) || via == bus->move.left);

    return is_of_use ? via : atomic_load(&bus->link);
}

void bus_link_push(struct bus_link *link)
{
    if (!atomic_load(&link->write_wanted) || !bus_link_can_call(link))
        return;
    bus_owner_is_inside = true;
    natsConnection_ProcessWriteEvent(link->nats);
    bus_owner_is_inside = false;
}

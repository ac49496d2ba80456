/*
 * The life of a connection: adopted by the owner once it is dialed, and closed when it is lost, which
 * is when the next one is dialed. nats.c never reconnects by itself.
 */
#include <fcntl.h>
#include <poll.h>
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
        if (bus->options.on_link != NULL)
            bus->options.on_link(bus->options.closure, up);
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
    link->payload_max = natsConnection_GetMaxPayload(nats);
    if (link->payload_max < BUS_PAYLOAD_MIN)
        return NATS_MAX_PAYLOAD;
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

static void on_lame(natsConnection *nats, void *closure)
{
    struct bus_link *link = closure;
    atomic_store(&link->is_lame, true);
    bus_wake(link->bus);
}

static void on_closed(natsConnection *nats, void *closure)
{
    struct bus_link *link = closure;
    const char *error = NULL;

    if (!is_closing(link)) {
        (void)natsConnection_GetLastError(nats, &error);
        LOG(LOG_WARNING, "bus connection lost; reconnecting", log_str("error", error));
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

/* The server's error text names the subject. */
static void note_violation(const struct bus_link *link)
{
    struct bus *const bus = link->bus;
    const char *text = nats_GetLastError(NULL);

    atomic_fetch_add(&bus->violations, 1);
    if (text != NULL && strcasestr(text, "for publish") != NULL)
        atomic_fetch_add(&bus->unpublished, 1);
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

natsStatus bus_set_callbacks(struct bus_link *link, natsOptions *o)
{
    natsStatus s = natsOptions_SetEventLoop(o, link, on_attach, on_read, on_write, on_detach);
    if (s == NATS_OK)
        s = natsOptions_SetClosedCB(o, on_closed, link);
    if (s == NATS_OK)
        s = natsOptions_SetLameDuckModeCB(o, on_lame, link);
    if (s == NATS_OK)
        s = natsOptions_SetErrorHandler(o, on_error, link);
    return s;
}

/* -- adopting ------------------------------------------------------------------------------- */

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

/* Messages that wait in its subscriptions are lost with it. */
static void give_up_ended(struct bus *bus)
{
    struct bus_link *link = atomic_load(&bus->link);

    if (link == NULL || !atomic_load(&link->ended))
        return;
    bus_link_close(link);
    atomic_store(&bus->link, NULL);
    bus_link_release(link);
    tell_link(bus);
}

void bus_link_step(struct bus *bus)
{
    give_up_ended(bus);
    if (atomic_load(&bus->link) == NULL && atomic_load(&bus->dialed) != NULL) {
        bus_end_dialing(bus);
        bus_adopt(bus, atomic_exchange(&bus->dialed, NULL));
        give_up_ended(bus); /* it may have ended before */
    }
    if (atomic_load(&bus->link) == NULL && !bus->dialing && !atomic_load(&bus->closing))
        bus_dial(bus);
    bus_move_step(bus);
}

bool bus_is_up(const struct bus *bus)
{
    return bus_link_can_call(atomic_load(&bus->link));
}

enum bus_trouble bus_trouble(const struct bus *bus)
{
    return bus_is_up(bus) ? BUS_UP : atomic_load(&bus->trouble);
}

const char *bus_trouble_text(enum bus_trouble trouble)
{
    static const char *const texts[] = {
        [BUS_UNREACHABLE] = "the bus is unreachable",
        [BUS_DENIED] = "the bus refused the user or the password",
        [BUS_SMALL] = "max_payload of the bus is below 8MB",
        [BUS_UP] = NULL,
    };

    return texts[trouble];
}

bool bus_link_can_call(const struct bus_link *link)
{
    return link != NULL && atomic_load(&link->socket) >= 0;
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

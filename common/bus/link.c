#include "common/bus/link.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/bus/bus_options.h"
#include "common/bus/message.h"

enum {
    /* How many bytes may wait in memory for a socket that takes no more. The messages of one step
       come on top, as they are first written at its end: for an actor, the replies of a batch, which
       is small if they are large. An actor begins no other batch while some of it waits. */
    BACKLOG_MAX = 8 * 1024 * 1024,
    REST_MS = 50, /* how long a write of the rest waits for the socket, at a time */
};

/* True on the owner's thread while it is inside nats.c. It flushes at the end of its step anyway,
   so a request to write needs no wake-up then. */
static _Thread_local bool owner_is_inside;

static void wake(const struct bus_link *link)
{
    (void)eventfd_write(link->wake_fd, 1); /* fails only if it is already signalled */
}

/* -- what nats.c tells, on its own threads and often under its lock ------------------------------ */

static void set_socket(struct bus_link *link, int socket)
{
    pthread_mutex_lock(&link->lock);
    atomic_store(&link->socket, socket);
    pthread_mutex_unlock(&link->lock);
    link->events->on_socket(link->closure, link);
    wake(link);
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

/* Before 3.10 nats.c does so itself, after on_read(). */
static void close_socket(natsSock socket)
{
#if NATS_VERSION_NUMBER >= 0x030A00
    natsConnection_ProcessCloseEvent(&socket);
#endif
}

/* Called only to stop reading: the link is lost or closed. */
static natsStatus on_read(void *user_data, bool add)
{
    struct bus_link *link = user_data;
    const natsSock socket = atomic_load(&link->socket);

    if (!add) {
        set_socket(link, -1);
        close_socket(socket);
    }
    return NATS_OK;
}

static natsStatus on_write(void *user_data, bool add)
{
    struct bus_link *link = user_data;
    atomic_store(&link->write_wanted, add);
    if (add && !owner_is_inside)
        wake(link);
    return NATS_OK;
}

/* May come after the bus is gone. */
static natsStatus on_detach(void *user_data)
{
    return NATS_OK;
}

static void on_lame(natsConnection *nats, void *closure)
{
    struct bus_link *link = closure;
    atomic_store(&link->is_lame, true);
    wake(link);
}

static void on_closed(natsConnection *nats, void *closure)
{
    struct bus_link *link = closure;
    const char *error = NULL;

    if (!atomic_load(&link->closing)) {
        (void)natsConnection_GetLastError(nats, &error);
        LOG(LOG_WARNING, "bus connection lost; reconnecting", log_str("error", error));
        atomic_store(&link->ended, true);
        wake(link);
    }
    sem_post(&link->closed);
}

/* The server's error text names the subject. */
static void note_denial(const struct bus_link *link)
{
    const char *text = nats_GetLastError(NULL);

    link->events->on_denied(link->closure, text != NULL && strcasestr(text, "for publish") != NULL);
    wake(link); /* for the thread that waits for a reply */
    LOG(LOG_ERROR, "bus denied a permission of this user",
        log_str("error", text != NULL ? text : "permission violation"));
}

static void on_error(natsConnection *nats, natsSubscription *sub, natsStatus error, void *closure)
{
    const struct bus_link *link = closure;
    if (error == NATS_NOT_PERMITTED)
        note_denial(link);
    else
        LOG(LOG_WARNING, "bus reports an error", log_str("error", natsStatus_GetText(error)));
}

static natsStatus set_callbacks(struct bus_link *link, natsOptions *o)
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

/* -- its life ------------------------------------------------------------------------------------ */

void link_init(struct bus_link *link, int number, int wake_fd, const struct link_events *events,
               void *closure)
{
    *link = (struct bus_link){
        .number = number, .wake_fd = wake_fd, .events = events, .closure = closure};
    atomic_init(&link->socket, -1);
    must(pthread_mutex_init(&link->lock, NULL) == 0 && sem_init(&link->closed, 0, 0) == 0);
}

void link_destroy(struct bus_link *link)
{
    must(link->nats == NULL);
    sem_destroy(&link->closed);
    pthread_mutex_destroy(&link->lock);
}

natsStatus link_connect(struct bus_link *link, natsOptions *options)
{
    must(set_callbacks(link, options) == NATS_OK);
    return natsConnection_Connect(&link->nats, options);
}

/* Lets nats.c meet the end of its socket. Otherwise it would wait half a second for the server to
   answer a ping, if it still has something to write, and since 3.13 always. */
static void end_socket(struct bus_link *link)
{
    pthread_mutex_lock(&link->lock);
    (void)shutdown(atomic_load(&link->socket), SHUT_RDWR);
    pthread_mutex_unlock(&link->lock);
    while (link_can_call(link))
        link_read(link);
}

void link_close(struct bus_link *link)
{
    end_socket(link);
    natsConnection_Close(link->nats);
    while (sem_wait(&link->closed) != 0)
        ; /* interrupted by a signal */
}

void link_release(struct bus_link *link)
{
#if NATS_VERSION_NUMBER >= 0x030B00
    natsConnection_ProcessDetachedEvent(link->nats); /* another reference to it, for event loops */
#endif
    natsConnection_Destroy(link->nats);
    link->nats = NULL;
    link->n_released++;
    atomic_store(&link->write_wanted, false);
    atomic_store(&link->is_lame, false);
    atomic_store(&link->ended, false);
    atomic_store(&link->closing, false);
    atomic_store(&link->is_closed, false);
    link->blocked = false;
}

static void write_rest(struct bus_link *link, int64_t until_us)
{
    struct pollfd fd = {.events = POLLOUT};

    for (link_push(link);
         atomic_load(&link->write_wanted) && link_can_call(link) && clock_mono_us() < until_us;
         link_push(link)) {
        fd.fd = atomic_load(&link->socket);
        (void)poll(&fd, 1, REST_MS);
    }
}

/* A copy, since nats.c closes its own when the link is lost. -1: there is none, or too many files
   are open. */
static int copy_socket(struct bus_link *link)
{
    int copy;

    pthread_mutex_lock(&link->lock);
    copy = fcntl(atomic_load(&link->socket), F_DUPFD_CLOEXEC, 0);
    pthread_mutex_unlock(&link->lock);
    return copy;
}

/* Closing a socket with unread bytes would discard what it has sent and the server has not read
   yet. */
void link_say_goodbye(struct bus_link *link, int64_t until_us)
{
    struct pollfd fd = {.events = POLLIN};
    char dropped[4096];

    write_rest(link, until_us);
    fd.fd = copy_socket(link);
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

/* -- reading and writing ------------------------------------------------------------------------- */

bool link_can_call(const struct bus_link *link)
{
    return link != NULL && atomic_load(&link->socket) >= 0;
}

bool link_has_room(const struct bus_link *link)
{
    return link_can_call(link) &&
           !(link->blocked && natsConnection_Buffered(link->nats) > BACKLOG_MAX);
}

void link_read(struct bus_link *link)
{
    owner_is_inside = true;
    natsConnection_ProcessReadEvent(link->nats);
    owner_is_inside = false;
}

void link_push(struct bus_link *link)
{
    if (!atomic_load(&link->write_wanted) || !link_can_call(link))
        return;
    owner_is_inside = true;
    natsConnection_ProcessWriteEvent(link->nats);
    owner_is_inside = false;
}

enum status link_status_of(natsStatus s)
{
    switch (s) {
    case NATS_OK:
        return ST_OK;
    case NATS_MAX_PAYLOAD:
    case NATS_INVALID_ARG:
    case NATS_INVALID_SUBJECT:
        return ST_INTERNAL;
    default:
        return ST_UNAVAILABLE;
    }
}

static natsStatus build(natsMsg **msg, const char *subject, const char *reply_to,
                        const struct bus_header *headers, size_t n_headers, struct str body)
{
    natsStatus s = natsMsg_Create(msg, subject, reply_to, body.p, (int)body.n);

    for (size_t i = 0; s == NATS_OK && i < n_headers; i++) {
        if (bus_trimmed(headers[i].value).n > 0)
            s = natsMsgHeader_Set(*msg, headers[i].name, headers[i].value);
    }
    return s;
}

enum status link_publish(const struct bus_link *link, const char *subject, const char *reply_to,
                         const struct bus_header *headers, size_t n_headers, struct str body)
{
    natsMsg *msg = NULL;
    natsStatus s;

    if (body.n > INT_MAX / 2)
        return ST_INTERNAL;
    if (!link_has_room(link))
        return ST_UNAVAILABLE;
    s = build(&msg, subject, reply_to, headers, n_headers, body);
    must(s != NATS_NO_MEMORY);
    owner_is_inside = true;
    if (s == NATS_OK)
        s = natsConnection_PublishMsg(link->nats, msg);
    owner_is_inside = false;
    message_discard(msg);
    return link_status_of(s);
}

natsStatus link_publish_bytes(const struct bus_link *link, const char *subject,
                              const char *reply_to, struct str bytes)
{
    natsStatus s;

    if (bytes.n > INT_MAX / 2)
        return NATS_MAX_PAYLOAD;
    owner_is_inside = true;
    if (reply_to != NULL)
        s = natsConnection_PublishRequest(link->nats, subject, reply_to, bytes.p, (int)bytes.n);
    else
        s = natsConnection_Publish(link->nats, subject, bytes.p, (int)bytes.n);
    owner_is_inside = false;
    return s;
}

size_t link_queued(natsSubscription *nats)
{
    uint64_t n = 0;

    if (nats == NULL || natsSubscription_QueuedMsgs(nats, &n) != NATS_OK)
        return 0;
    return (size_t)n;
}

/* Subscriptions, and the messages that come from them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/bus/bus_internal.h"

enum { DRAIN_MS = 5000 };

static void on_silent(void *closure)
{
    struct bus_mailbox *mailbox = closure;
    sem_post(&mailbox->silent);
}

void bus_mailbox_attach(struct bus_mailbox *m)
{
    natsSubscription *sub = NULL;
    natsConnection *nats = m->bus->nats;
    natsStatus s;

    if (m->stopped)
        return;
    if (m->handler != NULL)
        s = natsConnection_Subscribe(&sub, nats, m->subject, m->handler, m);
    else if (m->group != NULL)
        s = natsConnection_QueueSubscribeSync(&sub, nats, m->subject, m->group);
    else
        s = natsConnection_SubscribeSync(&sub, nats, m->subject);
    /* The owner bounds what waits: it sees the count. By default nats.c drops messages silently. */
    if (s == NATS_OK)
        s = natsSubscription_SetPendingLimits(sub, -1, -1);
    if (s == NATS_OK && m->handler != NULL)
        s = natsSubscription_SetOnCompleteCB(sub, on_silent, m);
    if (s == NATS_OK) {
        m->nats = sub;
        return;
    }
    /* The connection ended in between: the next one gets it. */
    natsSubscription_Destroy(sub);
    must(s == NATS_CONNECTION_CLOSED || s == NATS_INVALID_SUBSCRIPTION);
}

void bus_mailbox_detach(struct bus_mailbox *m)
{
    if (m->nats == NULL)
        return;
    while (m->handler != NULL && sem_wait(&m->silent) != 0)
        ; /* interrupted by a signal */
    natsSubscription_Destroy(m->nats);
    m->nats = NULL;
}

struct bus_mailbox *bus_subscribe(struct bus *bus, const char *subject, const char *group,
                                  natsMsgHandler handler, bus_notice_fn on_notice, void *closure)
{
    struct bus_mailbox *m = calloc(1, sizeof(*m));
    must(m != NULL && sem_init(&m->silent, 0, 0) == 0);
    m->bus = bus;
    m->subject = strdup(subject);
    m->group = group != NULL ? strdup(group) : NULL;
    must(m->subject != NULL && (group == NULL) == (m->group == NULL));
    m->handler = handler;
    m->on_notice = on_notice;
    m->closure = closure;
    m->next = bus->mailboxes;
    bus->mailboxes = m;
    if (bus->nats != NULL)
        bus_mailbox_attach(m);
    return m;
}

void bus_mailbox_free(struct bus_mailbox *m)
{
    sem_destroy(&m->silent);
    free(m->subject);
    free(m->group);
    free(m);
}

struct bus_mailbox *bus_serve(struct bus *bus, const char *subject, const char *group)
{
    return bus_subscribe(bus, subject, group, NULL, NULL, NULL);
}

static void on_notice(natsConnection *nats, natsSubscription *sub, natsMsg *msg, void *closure)
{
    struct bus_mailbox *mailbox = closure;
    mailbox->on_notice(mailbox->closure, message_of(msg));
    natsMsg_Destroy(msg);
}

void bus_listen(struct bus *bus, const char *subject, bus_notice_fn notice, void *closure)
{
    (void)bus_subscribe(bus, subject, NULL, on_notice, notice, closure);
}

size_t bus_waiting(struct bus_mailbox *mailbox)
{
    uint64_t n = 0;
    if (mailbox->nats == NULL || natsSubscription_QueuedMsgs(mailbox->nats, &n) != NATS_OK)
        return 0;
    return (size_t)n;
}

struct bus_message *bus_take(struct bus_mailbox *mailbox)
{
    natsMsg *msg = NULL;
    /* Asking an empty subscription costs a formatted error. */
    if (bus_waiting(mailbox) == 0)
        return NULL;
    if (natsSubscription_NextMsg(&msg, mailbox->nats, 0) != NATS_OK)
        return NULL;
    return message_of(msg);
}

void bus_stop_serving(struct bus_mailbox *mailbox)
{
    mailbox->stopped = true;
    if (mailbox->nats != NULL)
        (void)natsSubscription_DrainTimeout(mailbox->nats, DRAIN_MS);
}

/* Without a connection nothing arrives any more, and nothing confirms it. */
bool bus_is_drained(struct bus_mailbox *mailbox)
{
    return mailbox->nats == NULL ||
           (bus_waiting(mailbox) == 0 &&
            (!bus_is_up(mailbox->bus) ||
             natsSubscription_DrainCompletionStatus(mailbox->nats) != NATS_ILLEGAL_STATE));
}

void bus_serve_again(struct bus_mailbox *mailbox)
{
    bus_mailbox_detach(mailbox);
    mailbox->stopped = false;
    if (mailbox->bus->nats != NULL)
        bus_mailbox_attach(mailbox);
}

/* -- messages -------------------------------------------------------------------------------- */

struct str bus_message_subject(const struct bus_message *message)
{
    return str_of(natsMsg_GetSubject(nats_of(message)));
}

struct str bus_message_body(const struct bus_message *message)
{
    return (struct str){natsMsg_GetData(nats_of(message)),
                        (size_t)natsMsg_GetDataLength(nats_of(message))};
}

struct str bus_message_reply_to(const struct bus_message *message)
{
    const char *reply_to = natsMsg_GetReply(nats_of(message));
    return reply_to == NULL || reply_to[0] == '\0' ? STR_NONE : str_of(reply_to);
}

struct str bus_message_header(struct bus_message *message, const char *name)
{
    const char *value = NULL;
    if (natsMsgHeader_Get(nats_of(message), name, &value) != NATS_OK)
        return STR_NONE;
    return str_of(value);
}

/* nats.c frees a message on a separate thread, which every call wakes: under load that costs as
   much as all else it does. So what an owner's thread gives back gathers until it is worth a
   wake-up. */
enum { DEFERRED_MAX = 128, DEFERRED_BYTES = 1024 * 1024 };

static _Thread_local struct {
    bool is_in_use; /* this thread calls bus_flush(), so it is an owner's */
    size_t n, bytes;
    natsMsg *at[DEFERRED_MAX];
} deferred;

static pthread_key_t end_of_thread;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_deferred(void *unused)
{
    while (deferred.n > 0)
        natsMsg_Destroy(deferred.at[--deferred.n]);
    deferred.bytes = 0;
}

static void make_key(void)
{
    must(pthread_key_create(&end_of_thread, free_deferred) == 0);
}

void bus_defer_frees(void)
{
    if (deferred.is_in_use)
        return;
    must(pthread_once(&once, make_key) == 0);
    must(pthread_setspecific(end_of_thread, &deferred) == 0);
    deferred.is_in_use = true;
}

void bus_free_deferred(void)
{
    free_deferred(NULL);
}

static bool wipes; /* set before there are threads */

void bus_wipe_what_is_freed(void)
{
    wipes = true;
}

void bus_discard(natsMsg *msg)
{
    if (wipes && msg != NULL)
        explicit_bzero((char *)natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg));
    if (!deferred.is_in_use || msg == NULL) {
        natsMsg_Destroy(msg);
        return;
    }
    deferred.at[deferred.n++] = msg;
    deferred.bytes += (size_t)natsMsg_GetDataLength(msg);
    if (deferred.n == DEFERRED_MAX || deferred.bytes > DEFERRED_BYTES)
        bus_free_deferred();
}

void bus_message_free(struct bus_message *message)
{
    bus_discard(nats_of(message)); /* NULL is fine */
}

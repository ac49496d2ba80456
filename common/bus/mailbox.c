/* Subscriptions, and the messages that come from them, alone or in bundles. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/bus/bus_internal.h"

enum { DRAIN_MS = 5000 };

static bool wipes; /* set before there are threads */

static void on_silent(void *closure)
{
    struct bus_mailbox *mailbox = closure;
    sem_post(&mailbox->silent);
}

/* NULL: the connection ended meanwhile; the next one gets the subscription. */
static natsSubscription *subscribe(struct bus_mailbox *m, const struct bus_link *link,
                                   const char *subject)
{
    natsSubscription *sub = NULL;
    natsConnection *nats = link->nats;
    natsStatus s;

    if (m->handler != NULL)
        s = natsConnection_Subscribe(&sub, nats, subject, m->handler, m);
    else if (m->group != NULL)
        s = natsConnection_QueueSubscribeSync(&sub, nats, subject, m->group);
    else
        s = natsConnection_SubscribeSync(&sub, nats, subject);
    /* No limit here: the owner sees how many messages wait and limits them itself. By default
       nats.c drops messages silently. */
    if (s == NATS_OK)
        s = natsSubscription_SetPendingLimits(sub, -1, -1);
    if (s == NATS_OK && m->handler != NULL)
        s = natsSubscription_SetOnCompleteCB(sub, on_silent, m);
    if (s == NATS_OK)
        return sub;
    natsSubscription_Destroy(sub);
    must(s == NATS_CONNECTION_CLOSED || s == NATS_INVALID_SUBSCRIPTION);
    return NULL;
}

static struct bus_subscriptions *subscriptions(struct bus_mailbox *m, const struct bus_link *link)
{
    return &m->on[link - m->bus->links];
}

void bus_mailbox_attach(struct bus_mailbox *m, const struct bus_link *link)
{
    struct bus_subscriptions *on = subscriptions(m, link);

    if (m->stopped)
        return;
    on->alone = subscribe(m, link, m->subject);
    if (on->alone != NULL && m->bundles != NULL)
        on->bundles = subscribe(m, link, m->bundles);
}

void bus_mailbox_detach(struct bus_mailbox *m, const struct bus_link *link)
{
    struct bus_subscriptions *on = subscriptions(m, link);

    if (on->alone == NULL)
        return;
    while (m->handler != NULL && sem_wait(&m->silent) != 0)
        ; /* interrupted by a signal */
    natsSubscription_Destroy(on->alone);
    natsSubscription_Destroy(on->bundles);
    *on = (struct bus_subscriptions){NULL};
}

struct bus_mailbox *bus_subscribe(struct bus *bus, const char *subject, const char *group,
                                  natsMsgHandler handler, bus_notice_fn on_notice, void *closure)
{
    struct bus_mailbox *m = heap_zeroed(1, sizeof(*m));
    must(sem_init(&m->silent, 0, 0) == 0);
    m->bus = bus;
    m->subject = strdup(subject);
    m->group = group != NULL ? strdup(group) : NULL;
    must(m->subject != NULL && (group == NULL) == (m->group == NULL));
    m->handler = handler;
    m->on_notice = on_notice;
    m->closure = closure;
    m->next = bus->mailboxes;
    bus->mailboxes = m;
    if (atomic_load(&bus->link) != NULL)
        bus_mailbox_attach(m, atomic_load(&bus->link));
    return m;
}

void bus_mailbox_free(struct bus_mailbox *m)
{
    sem_destroy(&m->silent);
    while (m->next_opened < m->opened_end)
        bus_message_free(m->opened[m->next_opened++]);
    free(m->opened);
    free(m->subject);
    free(m->bundles);
    free(m->group);
    free(m);
}

struct bus_mailbox *bus_serve(struct bus *bus, const char *subject, const char *group)
{
    return bus_subscribe(bus, subject, group, NULL, NULL, NULL);
}

void bus_serve_bundles(struct bus_mailbox *mailbox)
{
    const struct bus_link *link = atomic_load(&mailbox->bus->link);
    struct bus_subscriptions *on = link != NULL ? subscriptions(mailbox, link) : NULL;

    must(mailbox->bundles == NULL && mailbox->group != NULL && !wipes);
    must(asprintf(&mailbox->bundles, "%s" BUS_BUNDLE_SUFFIX, mailbox->subject) > 0);
    if (on != NULL && on->alone != NULL)
        on->bundles = subscribe(mailbox, link, mailbox->bundles);
}

static void on_notice(natsConnection *nats, natsSubscription *sub, natsMsg *msg, void *closure)
{
    struct bus_mailbox *mailbox = closure;
    struct bus_message message = {.nats = msg};

    mailbox->on_notice(mailbox->closure, &message);
    natsMsg_Destroy(msg);
}

void bus_listen(struct bus *bus, const char *subject, bus_notice_fn notice, void *closure)
{
    (void)bus_subscribe(bus, subject, NULL, on_notice, notice, closure);
}

size_t bus_queued(natsSubscription *nats)
{
    uint64_t n = 0;

    if (nats == NULL || natsSubscription_QueuedMsgs(nats, &n) != NATS_OK)
        return 0;
    return (size_t)n;
}

size_t bus_waiting(struct bus_mailbox *m)
{
    size_t n = m->opened_end - m->next_opened;

    for (int i = 0; i < BUS_LINKS; i++)
        n += bus_queued(m->on[i].alone) + bus_queued(m->on[i].bundles);
    return n;
}

static natsMsg *next(natsSubscription *nats)
{
    natsMsg *msg = NULL;

    /* Asking an empty subscription costs a formatted error. */
    if (bus_queued(nats) == 0 || natsSubscription_NextMsg(&msg, nats, 0) != NATS_OK)
        return NULL;
    return msg;
}

/* Takes from the link that was left first, as it has the older messages. Returns the number of the
   link that *msg came by; with *msg NULL, any. */
static int next_of_links(struct bus_mailbox *m, bool bundles, natsMsg **msg)
{
    const struct bus_link *left = m->bus->move.left;
    const int first = left != NULL ? (int)(left - m->bus->links) : 0;
    int at = first;

    for (int i = 0; i < BUS_LINKS; i++) {
        at = (first + i) % BUS_LINKS;
        *msg = next(bundles ? m->on[at].bundles : m->on[at].alone);
        if (*msg != NULL)
            break;
    }
    return at;
}

/* Opens the oldest well-formed bundle. */
static void open_bundle(struct bus_mailbox *m)
{
    natsMsg *msg;
    int at;

    m->next_opened = m->opened_end = 0;
    while (m->opened_end == 0 && (at = next_of_links(m, true, &msg), msg != NULL)) {
        if (m->opened == NULL)
            m->opened = heap_zeroed(BUNDLE_ITEMS_MAX, sizeof(struct bus_message *));
        if (natsMsg_GetDataLength(msg) <= BUNDLE_BYTES_MAX)
            m->opened_end = bus_bundle_open(msg, &m->bus->links[at], false, m->opened);
        else
            bus_discard(msg);
    }
}

static struct bus_message *take_of_bundle(struct bus_mailbox *m)
{
    if (m->next_opened == m->opened_end)
        open_bundle(m);
    return m->next_opened < m->opened_end ? m->opened[m->next_opened++] : NULL;
}

static struct bus_message *take_alone(struct bus_mailbox *m)
{
    natsMsg *msg;
    const int at = next_of_links(m, false, &msg);
    struct bus_message *message = message_of(msg);

    if (message != NULL)
        message->via = &m->bus->links[at];
    return message;
}

/* Bundles and single messages alternate. */
struct bus_message *bus_take(struct bus_mailbox *m)
{
    const bool is_turn_of_single = m->single_next && m->next_opened == m->opened_end;
    struct bus_message *message = is_turn_of_single ? take_alone(m) : NULL;

    m->single_next = message == NULL;
    if (message == NULL)
        message = take_of_bundle(m);
    return message != NULL ? message : take_alone(m);
}

/* Not while the link is down: this call alone would make nats.c send, over the next connection,
   what it still holds for the last one. */
void bus_mailbox_drain(struct bus_mailbox *m, const struct bus_link *link)
{
    const struct bus_subscriptions *on = subscriptions(m, link);

    if (!bus_link_can_call(link))
        return;
    if (on->alone != NULL)
        (void)natsSubscription_DrainTimeout(on->alone, DRAIN_MS);
    if (on->bundles != NULL)
        (void)natsSubscription_DrainTimeout(on->bundles, DRAIN_MS);
}

static bool is_drained(natsSubscription *nats)
{
    return nats == NULL || (bus_queued(nats) == 0 &&
                            natsSubscription_DrainCompletionStatus(nats) != NATS_ILLEGAL_STATE);
}

bool bus_mailbox_is_drained(const struct bus_mailbox *m, const struct bus_link *link)
{
    const struct bus_subscriptions *on = &m->on[link - m->bus->links];

    return is_drained(on->alone) && is_drained(on->bundles);
}

void bus_stop_serving(struct bus_mailbox *mailbox)
{
    mailbox->stopped = true;
    for (int i = 0; i < BUS_LINKS; i++)
        bus_mailbox_drain(mailbox, &mailbox->bus->links[i]);
}

/* Without a connection nothing more arrives, and nothing confirms the drain. */
bool bus_is_drained(struct bus_mailbox *mailbox)
{
    if (bus_waiting(mailbox) > 0)
        return false;
    for (int i = 0; i < BUS_LINKS; i++) {
        const struct bus_link *link = &mailbox->bus->links[i];

        if (bus_link_can_call(link) && !bus_mailbox_is_drained(mailbox, link))
            return false;
    }
    return true;
}

void bus_serve_again(struct bus_mailbox *mailbox)
{
    const struct bus_link *link = atomic_load(&mailbox->bus->link);

    for (int i = 0; i < BUS_LINKS; i++)
        bus_mailbox_detach(mailbox, &mailbox->bus->links[i]);
    mailbox->stopped = false;
    if (link != NULL)
        bus_mailbox_attach(mailbox, link);
}

/* -- bundles that came ------------------------------------------------------------------------- */

/* 0: it is malformed. */
static size_t read_items(natsMsg *msg, bool may_be_compressed, struct bundle_item *items)
{
    const struct str bytes = {natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg)};
    const size_t n = bundle_read(bytes, items);

    for (size_t i = 0; i < n && !may_be_compressed; i++)
        if (items[i].is_compressed)
            return 0;
    return n;
}

size_t bus_bundle_open(natsMsg *msg, struct bus_link *via, bool may_be_compressed,
                       struct bus_message **out)
{
    struct bundle_item items[BUNDLE_ITEMS_MAX];
    const size_t n = read_items(msg, may_be_compressed, items);
    struct bus_bundle *bundle;

    if (n == 0) {
        LOG(LOG_WARNING, "bundle is malformed", log_str("subject", natsMsg_GetSubject(msg)));
        bus_discard(msg);
        return 0;
    }
    bundle = heap_zeroed(1, sizeof(*bundle) + n * sizeof(struct bus_message));
    bundle->nats = msg;
    bundle->via = via;
    atomic_init(&bundle->n_used, n);
    for (size_t i = 0; i < n; i++) {
        bundle->messages[i].bundle = bundle;
        bundle->messages[i].via = via;
        bundle->messages[i].item = items[i];
        out[i] = &bundle->messages[i];
    }
    return n;
}

void bus_bundle_release(struct bus_bundle *bundle)
{
    if (atomic_fetch_sub(&bundle->n_used, 1) > 1)
        return;
    bus_discard(bundle->nats);
    bundle_release(&bundle->replies);
    free(bundle);
}

bool bus_message_expand(struct bus_message *message, size_t *left)
{
    struct str body;

    if (!message->item.is_compressed)
        return true;
    body = bundle_expand(&message->item, *left);
    if (body.p == NULL) {
        LOG(LOG_WARNING, "reply is malformed",
            log_str("subject", natsMsg_GetSubject(message->bundle->nats)));
        return false;
    }
    *left -= body.n;
    message->expanded = (char *)body.p;
    message->item.body = body;
    message->item.is_compressed = false;
    return true;
}

/* -- what a message says ----------------------------------------------------------------------- */

struct bus_message *message_of(natsMsg *msg)
{
    struct bus_message *message;

    if (msg == NULL)
        return NULL;
    message = heap_zeroed(1, sizeof(*message));
    message->nats = msg;
    return message;
}

static natsMsg *nats_of(const struct bus_message *message)
{
    return message->bundle != NULL ? message->bundle->nats : message->nats;
}

struct str bus_message_subject(const struct bus_message *message)
{
    return str_of(natsMsg_GetSubject(nats_of(message)));
}

struct str bus_message_body(const struct bus_message *message)
{
    if (message->bundle != NULL)
        return message->item.body;
    return (struct str){natsMsg_GetData(message->nats),
                        (size_t)natsMsg_GetDataLength(message->nats)};
}

struct str bus_message_reply_to(const struct bus_message *message)
{
    const char *reply_to = natsMsg_GetReply(nats_of(message));

    return reply_to == NULL || reply_to[0] == '\0' ? STR_NONE : str_of(reply_to);
}

struct str bus_message_header(struct bus_message *message, const char *name)
{
    const char *value = NULL;

    if (message->bundle != NULL)
        return bundle_header(&message->item, name);
    if (natsMsgHeader_Get(message->nats, name, &value) != NATS_OK)
        return STR_NONE;
    return str_of(value);
}

/* -- freeing ----------------------------------------------------------------------------------- */

/* nats.c frees a message on a separate thread, which every call wakes: under load that costs as
   much as all its other work. So messages that an owner's thread frees are collected until a
   wake-up is worth it. */
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

void bus_wipe_what_is_freed(void)
{
    wipes = true;
}

bool bus_wipes(void)
{
    return wipes;
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
    if (message == NULL)
        return;
    if (message->bundle != NULL) {
        free(message->expanded);
        bus_bundle_release(message->bundle);
        return;
    }
    bus_discard(message->nats);
    free(message);
}

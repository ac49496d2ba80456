#include "common/bus/subscriptions.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/log.h"

enum { DRAIN_MS = 5000 };

/* -- subscriptions on links ---------------------------------------------------------------------- */

static void on_notice(natsConnection *nats, natsSubscription *sub, natsMsg *msg, void *closure)
{
    struct bus_mailbox *m = closure;
    struct bus_message *message = parcel_plain(msg)->messages;

    m->on_notice(m->closure, message);
    bus_message_free(message);
}

static void on_silent(void *closure)
{
    struct bus_mailbox *m = closure;
    sem_post(&m->silent);
}

/* NULL: the connection ended meanwhile; the next one gets the subscription. */
static natsSubscription *subscribe(struct bus_mailbox *m, natsConnection *nats)
{
    natsSubscription *sub = NULL;
    natsStatus s;

    if (m->on_notice != NULL)
        s = natsConnection_Subscribe(&sub, nats, m->subject, on_notice, m);
    else if (m->group != NULL)
        s = natsConnection_QueueSubscribeSync(&sub, nats, m->subject, m->group);
    else
        s = natsConnection_SubscribeSync(&sub, nats, m->subject);
    /* No limit here: the owner sees how many messages wait and limits them itself. By default
       nats.c drops messages silently. */
    if (s == NATS_OK)
        s = natsSubscription_SetPendingLimits(sub, -1, -1);
    if (s == NATS_OK && m->on_notice != NULL)
        s = natsSubscription_SetOnCompleteCB(sub, on_silent, m);
    if (s == NATS_OK)
        return sub;
    natsSubscription_Destroy(sub);
    must(s == NATS_CONNECTION_CLOSED || s == NATS_INVALID_SUBSCRIPTION);
    return NULL;
}

static void attach(struct bus_mailbox *m, const struct bus_link *link)
{
    if (!m->stopped && link != NULL)
        m->on[link->number] = subscribe(m, link->nats);
}

static void detach(struct bus_mailbox *m, int number)
{
    natsSubscription *const on = m->on[number];

    if (on == NULL)
        return;
    while (m->on_notice != NULL && sem_wait(&m->silent) != 0)
        ; /* interrupted by a signal */
    natsSubscription_Destroy(on);
    m->on[number] = NULL;
}

/* Not while the link is down: this call alone would make nats.c send, over the next connection,
   what it still holds for the last one. */
static void drain(struct bus_mailbox *m, const struct bus_link *link)
{
    if (link_can_call(link) && m->on[link->number] != NULL)
        (void)natsSubscription_DrainTimeout(m->on[link->number], DRAIN_MS);
}

static bool is_drained(const struct bus_mailbox *m, const struct bus_link *link)
{
    natsSubscription *const on = m->on[link->number];

    return on == NULL || (link_queued(on) == 0 &&
                          natsSubscription_DrainCompletionStatus(on) != NATS_ILLEGAL_STATE);
}

/* -- all of them --------------------------------------------------------------------------------- */

struct bus_mailbox *subscriptions_add(struct bus_subscriptions *all, const char *subject,
                                      const char *group, bus_notice_fn notice, void *closure)
{
    struct bus_mailbox *m = heap_zeroed(1, sizeof(*m));

    must(sem_init(&m->silent, 0, 0) == 0);
    m->all = all;
    m->subject = strdup(subject);
    m->group = group != NULL ? strdup(group) : NULL;
    must(m->subject != NULL && (group == NULL) == (m->group == NULL));
    m->on_notice = notice;
    m->closure = closure;
    m->next = all->first;
    all->first = m;
    attach(m, all->latest);
    return m;
}

void subscriptions_attach(struct bus_subscriptions *all, struct bus_link *link)
{
    if (all->latest != NULL)
        all->left = all->latest;
    all->latest = link;
    for (struct bus_mailbox *m = all->first; m != NULL; m = m->next)
        attach(m, link);
}

void subscriptions_drain(struct bus_subscriptions *all)
{
    for (struct bus_mailbox *m = all->first; m != NULL; m = m->next)
        drain(m, all->left);
}

bool subscriptions_are_drained(const struct bus_subscriptions *all)
{
    for (const struct bus_mailbox *m = all->first; m != NULL; m = m->next)
        if (!is_drained(m, all->left))
            return false;
    return true;
}

void subscriptions_detach(struct bus_subscriptions *all, const struct bus_link *link)
{
    for (struct bus_mailbox *m = all->first; m != NULL; m = m->next)
        detach(m, link->number);
    if (all->latest == link)
        all->latest = NULL;
    if (all->left == link)
        all->left = NULL;
}

static struct bus_message *next_opened(struct bus_mailbox *m)
{
    struct bus_parcel *const opened = m->opened;
    struct bus_message *const message = &opened->messages[m->n_taken++];

    if (m->n_taken == opened->n_messages)
        m->opened = NULL;
    return message;
}

void subscriptions_free(struct bus_subscriptions *all)
{
    while (all->first != NULL) {
        struct bus_mailbox *m = all->first;

        all->first = m->next;
        while (m->opened != NULL)
            bus_message_free(next_opened(m));
        sem_destroy(&m->silent);
        free(m->subject);
        free(m->group);
        free(m);
    }
}

/* -- a mailbox ----------------------------------------------------------------------------------- */

size_t bus_waiting(struct bus_mailbox *m)
{
    size_t n = m->opened != NULL ? m->opened->n_messages - m->n_taken : 0;

    for (int i = 0; i < BUS_LINKS; i++)
        n += link_queued(m->on[i]);
    return n;
}

static natsMsg *next(const struct bus_mailbox *m, const struct bus_link *link)
{
    natsSubscription *const on = link != NULL ? m->on[link->number] : NULL;
    natsMsg *msg = NULL;

    /* Asking an empty subscription costs a formatted error. */
    if (link_queued(on) == 0 || natsSubscription_NextMsg(&msg, on, 0) != NATS_OK)
        return NULL;
    return msg;
}

/* The link that was left has the older messages. */
struct bus_message *bus_take(struct bus_mailbox *m)
{
    while (m->opened == NULL) {
        const struct bus_link *via = m->all->left;
        natsMsg *msg = next(m, via);

        if (msg == NULL)
            msg = next(m, via = m->all->latest);
        if (msg == NULL)
            return NULL;
        m->opened = parcel_of_request(msg, m->all->taker, via);
        if (m->opened != NULL)
            m->opened->via_released = via->n_released;
        m->n_taken = 0;
    }
    return next_opened(m);
}

void bus_stop_serving(struct bus_mailbox *m)
{
    m->stopped = true;
    drain(m, m->all->left);
    drain(m, m->all->latest);
}

/* Without a connection nothing more arrives, and nothing confirms the drain. */
static bool brings_no_more(const struct bus_mailbox *m, const struct bus_link *link)
{
    return !link_can_call(link) || is_drained(m, link);
}

bool bus_is_drained(struct bus_mailbox *m)
{
    return bus_waiting(m) == 0 && brings_no_more(m, m->all->left) &&
           brings_no_more(m, m->all->latest);
}

void bus_serve_again(struct bus_mailbox *m)
{
    for (int i = 0; i < BUS_LINKS; i++)
        detach(m, i);
    m->stopped = false;
    attach(m, m->all->latest);
}

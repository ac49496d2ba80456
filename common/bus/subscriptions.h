/*
 * subscriptions - the mailboxes of a bus, and their subscriptions on its links. Private to
 *                 common/bus.
 *
 * What     A mailbox outlives the links. While a bus moves from one link to another, it has a
 *          subscription on both.
 * Owns     The mailboxes.
 * Threads  The owner's; handlers of notices run on threads of nats.c.
 */
#ifndef COMMON_BUS_SUBSCRIPTIONS_H
#define COMMON_BUS_SUBSCRIPTIONS_H

#include <nats/nats.h>
#include <semaphore.h>

#include "common/bus/link.h"
#include "common/bus/mailbox.h"
#include "common/bus/message.h"

struct bus_subscriptions {
    const void *taker; /* of the messages: see bus_parcel */
    struct bus_mailbox *first;
    struct bus_link *latest; /* the one in use; NULL: none */
    struct bus_link *left;   /* the one before, until it is closed; NULL: none */
};

struct bus_mailbox {
    struct bus_subscriptions *all;
    struct bus_mailbox *next;
    char *subject;
    char *group;             /* NULL: each subscriber gets every message */
    bus_notice_fn on_notice; /* NULL: the owner takes the messages */
    void *closure;
    bool stopped;
    natsSubscription *on[BUS_LINKS]; /* NULL: none */
    struct bus_parcel *opened;       /* of which messages have not been taken yet; NULL: none */
    size_t n_taken;                  /* of its messages */
    sem_t silent; /* posted, for each link, once the handler will not be called any more */
};

/* `group` and `on_notice` may be NULL. */
struct bus_mailbox *subscriptions_add(struct bus_subscriptions *all, const char *subject,
                                      const char *group, bus_notice_fn on_notice, void *closure);
/* The link is in use from now on; the one that was is left, if there was one. */
void subscriptions_attach(struct bus_subscriptions *all, struct bus_link *link);
/* Stops messages from being routed to the link that was left. */
void subscriptions_drain(struct bus_subscriptions *all);
/* Nothing waits there, and nothing more will come over it. */
bool subscriptions_are_drained(const struct bus_subscriptions *all);
/* Forgets a link that is closed; messages not taken from it are lost. */
void subscriptions_detach(struct bus_subscriptions *all, const struct bus_link *link);
void subscriptions_free(struct bus_subscriptions *all); /* no link may be attached */

#endif

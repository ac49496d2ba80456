/*
 * membership - in the service's queue group, while there is a database.
 *
 * What     An actor takes commands only while it has its database: a replica without it takes none
 *          from replicas that have theirs. Messages that were routed here before it left still arrive
 *          and are refused, all of them before it rejoins.
 * Owns     The mailboxes, one for each handler of the service; membership_release() frees the list of
 *          them. The bus and what it was made with outlive it.
 * Threads  The actor's.
 */
#ifndef COMMON_ACTOR_MEMBERSHIP_H
#define COMMON_ACTOR_MEMBERSHIP_H

#include "common/actor/handler.h"
#include "common/bus/bus.h"

struct membership {
    const struct service *service;
    const char *name, *cell; /* of the actor; NULL: main */
    struct bus *bus;
    struct bus_mailbox **mailboxes; /* in the order of the handlers */
    size_t n_mailboxes;             /* 0 until the database is there for the first time */
    bool has_left;                  /* the group, because the database is away */
};

void membership_init(struct membership *membership, const struct service *service, const char *name,
                     const char *cell, struct bus *bus);
void membership_release(struct membership *membership);
/* One step: joins the group when the database is there, leaves it when the database is away.
   `trouble`: why there is no database; NULL: there is. */
void membership_update(struct membership *membership, const char *trouble, bool is_away);
/* Stops taking messages; those that the bus has already routed here still arrive. */
void membership_close_intake(struct membership *membership);
bool membership_is_drained(const struct membership *membership);
/* How many messages the bus holds for it. */
size_t membership_waiting(const struct membership *membership);

#endif

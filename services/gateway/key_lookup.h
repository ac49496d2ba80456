/*
 * key_lookup - asks the access service about keys and about leases of their quota; at most one
 * lookup of each kind is in flight for a key, however many requests wait for it.
 *
 * Threads  The gateway's loop.
 */
#ifndef SERVICES_GATEWAY_KEY_LOOKUP_H
#define SERVICES_GATEWAY_KEY_LOOKUP_H

#include <h2o.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/bus/bus.h"

struct gateway;
struct key;

/*
 * wait_list - requests that wait in a list until what they wait for is there.
 *
 * Owns     Nothing; an entry is part of what waits.
 * Threads  The gateway's loop.
 */

struct wait_entry {
    h2o_linklist_t link;
    /* The entry is in no list then and may be added again. */
    void (*resume)(struct wait_entry *entry);
};

void wait_list_add(struct wait_entry *entry, h2o_linklist_t *list);
void wait_list_remove(struct wait_entry *entry); /* from whatever list it is in, if any */
void wait_list_resume(h2o_linklist_t *list);

/*
 * lookup_budget - how many look-ups of keys that turn out to be unknown this loop may still cause.
 *
 * What     Anybody can make up keys with a right checksum, a new one for each request and from as
 *          many addresses as they own, so neither the throttle nor what is remembered of a refusal
 *          bounds what they cost the database. This does: LOOKUP_BUDGET_MAX at once, then
 *          LOOKUP_BUDGET_PER_SECOND. A look-up that finds its key costs nothing, so a gateway that
 *          has just started meets any number of good keys. The last half is for who has not failed
 *          lately, and the last quarter for networks from which a good key came lately
 *          (key_cache.h): strangers cannot use it up, however many addresses they have.
 * Threads  One.
 */

#define LOOKUP_BUDGET_MAX        1000
#define LOOKUP_BUDGET_PER_SECOND 100

enum standing {
    STANDING_SUSPECT,  /* failed in this minute: see throttle.h */
    STANDING_STRANGER, /* nothing is known */
    STANDING_FAMILIAR, /* a good key came from that network lately */
};

struct lookup_budget {
    int64_t spent_us; /* of the time in which it is earned */
    int64_t as_of_us; /* monotonic */
};

/* Takes one look-up's worth before it is asked. */
bool lookup_budget_take(struct lookup_budget *budget, enum standing standing, int64_t mono_us);
/* The key was known after all, or could not be looked up. */
void lookup_budget_refund(struct lookup_budget *budget);

/*
 * invalidation - notices of access, from a thread of nats.c to the gateway's loop through its
 * queue: what is cached of an organization's keys is stale from then on.
 *
 * Threads  invalidation_deliver() runs on the loop, invalidation_post() on any thread, where it
 *          does this one thing.
 */

void invalidation_post(void *gateway, struct bus_message *message);
void invalidation_deliver(h2o_multithread_receiver_t *invalidations, h2o_linklist_t *messages);

/* Asks again in the background. */
void key_lookup_refresh(struct gateway *gateway, struct key *key);
/* To be asked before waiting for a key that is not known. `standing`: of who brings it.
   False: too many such keys were looked up without success. */
MUST_CHECK bool key_lookup_may_ask(struct gateway *gateway, struct key *key,
                                   enum standing standing);
/* False: it cannot be asked now. */
MUST_CHECK bool key_lookup_wait(struct gateway *gateway, struct key *key, struct wait_entry *entry);

void quota_lease_ahead(struct gateway *gateway, struct key *key);
/* False: it cannot be asked now; the key's quota has what can be counted here. */
MUST_CHECK bool quota_lease_wait(struct gateway *gateway, struct key *key,
                                 struct wait_entry *entry);

#endif

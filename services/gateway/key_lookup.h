/*
 * key_lookup - asks access about keys, and hears from it which of them have changed.
 *
 * What     At most one look-up is in flight for a key, however many requests wait for it. How many
 *          look-ups of unknown keys there are is limited. A notice that arrives during a look-up
 *          makes its answer doubtful: then access is asked once more.
 * Owns     Nothing; a key that is asked about is held until the answer is there.
 * Threads  The loop's, apart from invalidation_post().
 */
#ifndef SERVICES_GATEWAY_KEY_LOOKUP_H
#define SERVICES_GATEWAY_KEY_LOOKUP_H

#include <h2o.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

struct bus_message;
struct gateway;
struct key;

/* -- wait lists ------------------------------------------------------------------------------ */

/* A request in a list until what it waits for is there; a part of what waits. */
struct wait_entry {
    h2o_linklist_t link;
    /* The entry is in no list then and may be added again. */
    void (*resume)(struct wait_entry *entry);
};

void wait_list_add(struct wait_entry *entry, h2o_linklist_t *list);
void wait_list_remove(struct wait_entry *entry); /* from whatever list it is in, if any */
void wait_list_resume(h2o_linklist_t *list);

/* -- the lookup budget ----------------------------------------------------------------------- */

/* How many look-ups of keys that turn out to be unknown this loop may still cause. Anybody can make
   up keys with a right checksum, a new one for each request and from as many addresses as they own,
   so neither the throttle nor remembered refusals bound their cost to the database.
   This does: LOOKUP_BUDGET_MAX at once, then LOOKUP_BUDGET_PER_SECOND. A look-up that finds its key
   costs nothing, so a gateway that has just started meets any number of good keys. The last half is
   for clients that have not failed lately, and the last quarter for networks from which a good key
   came lately (key_cache.h): strangers cannot use it up, however many addresses they have. */
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

/* -- look-ups -------------------------------------------------------------------------------- */

/* Asks again in the background. */
void key_lookup_refresh(struct gateway *gateway, struct key *key);
/* To be asked before waiting for a key that is not known. `standing`: of who brings it.
   False: too many such keys were looked up without success. */
MUST_CHECK bool key_lookup_may_ask(struct gateway *gateway, struct key *key,
                                   enum standing standing);
/* False: it cannot be asked now. */
MUST_CHECK bool key_lookup_wait(struct gateway *gateway, struct key *key, struct wait_entry *entry);

/* -- invalidations --------------------------------------------------------------------------- */

/* Notices of access: the cached records of an organization's keys are stale from then on.
   invalidation_post() runs on a thread of nats.c and puts the notice into the queue of the
   gateway's loop, where invalidation_deliver() takes it out. */
void invalidation_post(void *gateway, struct bus_message *message);
void invalidation_deliver(h2o_multithread_receiver_t *invalidations, h2o_linklist_t *messages);

#endif

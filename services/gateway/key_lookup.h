/*
 * key_lookup - asks access about keys, and receives its notices of changed keys.
 *
 * What     At most one lookup is in flight for a key, however many requests wait for it. Lookups of
 *          unknown keys are rate limited. If a notice arrives during a lookup, the reply may be
 *          stale, so access is asked once more.
 * Owns     Nothing; a key is held while its lookup is in flight.
 * Threads  The loop's, apart from invalidation_post().
 */
#ifndef SERVICES_GATEWAY_KEY_LOOKUP_H
#define SERVICES_GATEWAY_KEY_LOOKUP_H

#include <h2o.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/rate.h"
#include "common/base/status.h"

struct bus_message;
struct gateway;
struct key;
struct wait_entry;

/* -- the lookup budget ----------------------------------------------------------------------- */

/* How many lookups of keys that turn out to be unknown this loop may still cause. Anybody can make
   up keys with a correct checksum, a new one for each request and from every address they own, so
   neither the throttle nor remembered refusals limit what they cost the database. This budget does:
   LOOKUP_BUDGET_MAX at once, then LOOKUP_BUDGET_PER_SECOND. A lookup that finds its key costs
   nothing, so a gateway that has just started accepts any number of valid keys. The last half is
   reserved for clients that have not failed lately, and the last quarter for networks from which a
   valid key came lately (key_cache.h): strangers cannot use it up, however many addresses they
   have. */
#define LOOKUP_BUDGET_MAX        1000
#define LOOKUP_BUDGET_PER_SECOND 100

enum standing {
    STANDING_SUSPECT,  /* failed in the current minute: see throttle.h */
    STANDING_STRANGER, /* nothing is known */
    STANDING_FAMILIAR, /* a valid key came from its network lately */
};

/* Takes the price of one lookup, before access is asked. */
bool lookup_budget_take(struct rate *budget, enum standing standing, int64_t mono_us);
/* The key was known after all, or could not be looked up. */
void lookup_budget_refund(struct rate *budget);

/* -- lookups --------------------------------------------------------------------------------- */

/* Starts a lookup in the background. */
void key_lookup_refresh(struct gateway *gateway, struct key *key);
/* Must be called before waiting for a key that is not known. `standing`: of the client that sent
   it. False: too many such keys were looked up without success. */
MUST_CHECK bool key_lookup_may_ask(struct gateway *gateway, struct key *key,
                                   enum standing standing);
/* False: access cannot be asked now. */
MUST_CHECK bool key_lookup_wait(struct gateway *gateway, struct key *key, struct wait_entry *entry);

/* -- invalidations --------------------------------------------------------------------------- */

/* Notices from access: the cached records of an organization's keys are stale from then on.
   invalidation_post() runs on a thread of nats.c and queues the notice for the gateway's loop,
   where invalidation_deliver() takes it out. */
void invalidation_post(void *gateway, struct bus_message *message);
void invalidation_deliver(h2o_multithread_receiver_t *invalidations, h2o_linklist_t *messages);

#endif

/*
 * key_lookup - asks the access service about keys and about leases of their quota; at most one
 * lookup of each kind is in flight for a key, however many requests wait for it.
 *
 * Threads  The gateway's loop.
 */
#ifndef GATEWAY_KEY_LOOKUP_H
#define GATEWAY_KEY_LOOKUP_H

#include "services/gateway/gateway.h"
#include "services/gateway/wait_list.h"

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

/*
 * lookup - asks the access service about keys and about leases of their quota; at most one question
 * of each kind is under way for a key, whoever waits for it.
 *
 * Threads  The gateway's loop.
 */
#ifndef GATEWAY_LOOKUP_H
#define GATEWAY_LOOKUP_H

#include "services/gateway/gateway.h"
#include "services/gateway/waiter.h"

/* Asks again in the background. */
void lookup_refresh(struct gateway *gateway, struct key *key);
/* To be asked before waiting for a key that is not known. `suspect`: see allowance.h. False: too
   many such keys were looked up lately in vain. */
MUST_CHECK bool lookup_may_ask(struct gateway *gateway, struct key *key, bool suspect);
/* False: it cannot be asked now; the key's state says so already. */
MUST_CHECK bool lookup_wait(struct gateway *gateway, struct key *key, struct waiter *waiter);

void lease_ahead(struct gateway *gateway, struct key *key);
/* False: it cannot be asked now; the key's quota has what can be counted here. */
MUST_CHECK bool lease_wait(struct gateway *gateway, struct key *key, struct waiter *waiter);

#endif

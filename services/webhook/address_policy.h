/*
 * address_policy - decides which addresses a delivery may connect to.
 *
 * What     Allows public addresses that are not this machine's own, and others that the operator
 *          allows; never those that address_is_never_allowed() refuses. One table has the addresses
 *          outside the public internet (RFC 6890 and its registries), another those refused
 *          whatever the operator allows: link-local addresses and the metadata services of clouds,
 *          also when embedded in an address that translates to IPv4 (mapped, NAT64, 6to4, Teredo).
 * Owns     Nothing.
 * Threads  address_policy_refresh() by one thread; the others are pure.
 * Fails    If the machine's own addresses cannot be read, the ones read before stay.
 */
#ifndef SERVICES_WEBHOOK_ADDRESS_POLICY_H
#define SERVICES_WEBHOOK_ADDRESS_POLICY_H

#include "common/base/ip.h"

/* -- ranges ------------------------------------------------------------------------------------ */

/* Global unicast and in no special-purpose block. */
bool address_is_public(const struct address *address);
/* Refused even if the operator allows a network that contains it. */
bool address_is_never_allowed(const struct address *address);

/* -- the policy -------------------------------------------------------------------------------- */

#define ADDRESS_POLICY_OWN_MAX 256

struct address_policy {
    const struct networks *allowed; /* by the operator */
    size_t n_own;
    struct address own[ADDRESS_POLICY_OWN_MAX];
};

/* Reads this machine's current addresses. */
void address_policy_refresh(struct address_policy *policy);
bool address_policy_allows(const struct address_policy *policy, const struct address *address);

#endif

/*
 * address_policy - decides which addresses a delivery may connect to.
 *
 * What     Allows public addresses that are not this machine's own, and others that the operator
 *          allows; never those that the operator denies, although they may be public. One table has
 *          the addresses outside the public internet (RFC 6890 and its registries), another those
 *          refused whatever the operator allows: link-local addresses and the metadata services of
 *          clouds. Refused and denied addresses are so when embedded in one that translates to IPv4,
 *          too (mapped, NAT64, 6to4, Teredo).
 *          The prefixes of a network's own NAT64 are the operator's to name, since they look like
 *          any other IPv6 network. An address in one is judged as the IPv4 address inside.
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

/* What the operator sets. Denied goes before allowed. */
struct address_rules {
    struct networks allowed, denied, nat64;
};

/* False: a prefix of NAT64 is not IPv6 with 32, 40, 48, 56, 64 or 96 bits (RFC 6052). */
bool address_rules_are_sound(const struct address_rules *rules);

/* -- the policy -------------------------------------------------------------------------------- */

#define ADDRESS_POLICY_OWN_MAX 256

struct address_policy {
    const struct address_rules *rules;
    size_t n_own;
    struct address own[ADDRESS_POLICY_OWN_MAX];
};

/* Reads this machine's current addresses. */
void address_policy_refresh(struct address_policy *policy);
bool address_policy_allows(const struct address_policy *policy, const struct address *address);

#endif

/*
 * address_policy - decides which addresses a delivery may connect to.
 *
 * What     Public addresses that are not this machine's own, and what the operator allows besides;
 *          never what address_ranges.h refuses always.
 * Owns     Nothing.
 * Threads  address_policy_refresh() by one thread; address_policy_allows() is pure.
 * Fails    When the machine's own addresses cannot be read, those known before stay.
 */
#ifndef SERVICES_WEBHOOK_ADDRESS_POLICY_H
#define SERVICES_WEBHOOK_ADDRESS_POLICY_H

#include "common/base/network.h"

#define ADDRESS_POLICY_OWN_MAX 256

struct address_policy {
    const struct networks *allowed; /* by the operator */
    size_t n_own;
    struct address own[ADDRESS_POLICY_OWN_MAX];
};

/* Learns the addresses that this machine has now. */
void address_policy_refresh(struct address_policy *policy);
bool address_policy_allows(const struct address_policy *policy, const struct address *address);

#endif

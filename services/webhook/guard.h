/*
 * guard - the one judge of where a delivery may connect to.
 *
 * What     Public addresses that are not this machine's own, and what the operator allows besides;
 *          never what ranges.h refuses always.
 * Owns     Nothing.
 * Threads  guard_look_around() by one thread; guard_allows() is pure.
 * Fails    When the machine's own addresses cannot be read, those known before stay.
 */
#ifndef SERVICES_WEBHOOK_GUARD_H
#define SERVICES_WEBHOOK_GUARD_H

#include "common/base/network.h"

#define GUARD_OWN_MOST 256

struct guard {
    const struct networks *allowed; /* by the operator */
    size_t n_own;
    struct address own[GUARD_OWN_MOST];
};

/* Learns the addresses that this machine has now. */
void guard_look_around(struct guard *guard);
bool guard_allows(const struct guard *guard, const struct address *address);

#endif

/*
 * ranges - which addresses deliveries may go to.
 *
 * What     A table of what is not the public internet (RFC 6890 and its registries), blocks that
 *          the operator allows in spite of it, and addresses that stay refused whatever is allowed:
 *          link-local ones and the metadata services of clouds, also where they hide in an address
 *          that translates to IPv4 (mapped, NAT64, 6to4, Teredo).
 * Threads  Any; pure.
 */
#ifndef SERVICES_WEBHOOK_RANGES_H
#define SERVICES_WEBHOOK_RANGES_H

#include <stddef.h>

#include "common/base/address.h"

#define RANGES_MOST 64

struct range {
    struct address base;
    unsigned bits; /* of the 128 */
};

struct ranges {
    size_t n;
    struct range at[RANGES_MOST];
};

/* "a.b.c.d/n,x::/n": an address without a prefix is a range of one. Blanks around commas are fine,
   bits behind the prefix are not. */
bool ranges_parse(struct str text, struct ranges *out);
bool ranges_hold(const struct ranges *ranges, const struct address *address);

/* Global unicast, and no special purpose is known for it. */
bool address_is_public(const struct address *address);
/* Refused even where the operator allows its neighbourhood. */
bool address_is_never_allowed(const struct address *address);

#endif

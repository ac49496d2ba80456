/*
 * address_ranges - which addresses deliveries may go to.
 *
 * What     A table of what is not the public internet (RFC 6890 and its registries), and one of
 *          addresses that stay refused whatever the operator allows: link-local ones and the
 *          metadata services of clouds, also where they hide in an address that translates to IPv4
 *          (mapped, NAT64, 6to4, Teredo).
 * Threads  Any; pure.
 */
#ifndef SERVICES_WEBHOOK_ADDRESS_RANGES_H
#define SERVICES_WEBHOOK_ADDRESS_RANGES_H

#include "common/base/address.h"

/* Global unicast, and no special purpose is known for it. */
bool address_is_public(const struct address *address);
/* Refused even where the operator allows its neighbourhood. */
bool address_is_never_allowed(const struct address *address);

#endif

/*
 * network - blocks of addresses, and the address of a socket.
 *
 * Threads  Any; pure.
 */
#ifndef COMMON_BASE_NETWORK_H
#define COMMON_BASE_NETWORK_H

#include <stddef.h>

#include "common/base/address.h"

#define NETWORKS_MOST 64

struct sockaddr;

struct network {
    struct address base;
    unsigned bits; /* of the 128 */
};

struct networks {
    size_t n;
    struct network at[NETWORKS_MOST];
};

/* `a.b.c.d/n,...`; an address without a prefix is a network of one. Empty text is fine. */
bool networks_parse(struct str text, struct networks *out);
bool networks_hold(const struct networks *networks, const struct address *address);

/* The unspecified address for a family that is not IP. */
struct address address_of(const struct sockaddr *from);

#endif

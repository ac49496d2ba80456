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

/* `a.b.c.d/n`; an address without a prefix is a network of one. Bits behind the prefix are refused:
   what was meant is not clear then. False leaves *out untouched. */
bool network_parse(struct str text, struct network *out);
bool network_holds(const struct network *network, const struct address *address);

/* `a.b.c.d/n,...`, blanks around commas are fine, and so is empty text. */
bool networks_parse(struct str text, struct networks *out);
bool networks_hold(const struct networks *networks, const struct address *address);

/* The unspecified address for a family that is not IP. */
struct address address_of(const struct sockaddr *from);

#endif

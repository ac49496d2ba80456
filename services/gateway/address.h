/*
 * address - IP addresses as 16 bytes, in which an IPv4 address is its IPv4-mapped IPv6 address, and
 * networks of them.
 *
 * Threads  Any; pure.
 */
#ifndef GATEWAY_ADDRESS_H
#define GATEWAY_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/str.h"

#define ADDRESS_TEXT  46 /* with its NUL */
#define NETWORKS_MOST 64

struct sockaddr;

struct address {
    uint8_t b[16];
};

struct network {
    struct address base;
    unsigned bits; /* of the 128 */
};

struct networks {
    size_t n;
    struct network at[NETWORKS_MOST];
};

/* An address and nothing else: no port, no brackets, no zone. False leaves *out untouched. */
bool address_parse(struct str text, struct address *out);
/* Of a socket; the unspecified address for a family that is not IP. */
struct address address_of(const struct sockaddr *from);
void address_format(const struct address *address, char text[ADDRESS_TEXT]);
bool address_equal(const struct address *a, const struct address *b);

/* `a.b.c.d/n,...`; an address without a prefix is a network of one. Empty text is fine. */
bool networks_parse(struct str text, struct networks *out);
bool networks_hold(const struct networks *networks, const struct address *address);

#endif

/*
 * ip - IPv4 and IPv6 addresses, networks of them, and the address of a socket.
 *
 * What     Both kinds of address take 16 bytes; an IPv4 address and its IPv4-mapped IPv6 form are
 *          the same. Text with a zone, brackets, leading zeros in an octet or fewer than four octets
 *          is refused, so that only unambiguous text is accepted.
 * Threads  Any; pure.
 */
#ifndef COMMON_BASE_IP_H
#define COMMON_BASE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/str.h"

struct sockaddr;
struct sockaddr_storage;

/* -- addresses --------------------------------------------------------------------------------- */

#define ADDRESS_TEXT 46

struct address {
    uint8_t b[16]; /* IPv4 as ::ffff:a.b.c.d */
};

/* The text has no prefix length and no blanks. False leaves *out untouched. */
bool address_parse(struct str text, struct address *out);
/* Writes the canonical spelling: dotted for IPv4, RFC 5952 for IPv6. */
void address_format(const struct address *address, char text[ADDRESS_TEXT]);
bool address_equal(const struct address *a, const struct address *b);
/* Returns the unspecified address if the family is not IP. */
struct address address_of(const struct sockaddr *from);
/* The opposite; returns how many bytes of *out are in use. */
size_t address_to_socket(const struct address *address, uint16_t port,
                         struct sockaddr_storage *out);

/* -- networks ---------------------------------------------------------------------------------- */

#define NETWORK_TEXT (ADDRESS_TEXT + 4)

struct network {
    struct address base;
    unsigned bits; /* of the 128 */
};

/* `a.b.c.d/n`; an address without a prefix is a network of one. Bits after the prefix must be zero,
   since their meaning would be unclear. False leaves *out untouched. */
bool network_parse(struct str text, struct network *out);
bool network_holds(const struct network *network, const struct address *address);

/* The network around an address: of an IPv4 address the first `bits_v4` of its 32, of any other the
   first `bits_v6` of its 128. */
struct network network_around(const struct address *address, unsigned bits_v4, unsigned bits_v6);
/* `a.b.c.d/n`, in the canonical spelling. */
void network_format(const struct network *network, char text[NETWORK_TEXT]);
bool network_equal(const struct network *a, const struct network *b);

/* The network of an address's likely owner: an IPv4 address or an IPv6 /64, as the owner chooses
   the remaining bits. And the network that one person can easily get: a /24 or a /48. */
struct network network_near(const struct address *address);
struct network network_wide(const struct address *address);
/* Of one of these two: no other has the same key. */
void network_key(const struct network *network, uint8_t key[16]);

/* -- lists of networks ------------------------------------------------------------------------- */

#define NETWORKS_MAX       64
#define NETWORKS_WRONG_MAX 64

struct networks {
    size_t n;
    struct network at[NETWORKS_MAX];
};

/* `a.b.c.d/n,...`; blanks around commas and an empty text are fine. False: *wrong, which may be NULL,
   is the part that is no network, or one too many; at most NETWORKS_WRONG_MAX bytes of it. */
bool networks_parse(struct str text, struct networks *out, struct str *wrong);
bool networks_hold(const struct networks *networks, const struct address *address);

#endif

/*
 * address - one exact IPv4 or IPv6 address.
 *
 * What     Both kinds in 16 bytes; an IPv4 address and its IPv4-mapped IPv6 form are one and the
 *          same. Text with a prefix length, a zone, brackets, blanks, leading zeros of an octet or
 *          fewer than four octets is refused: what cannot be read in only one way is not read.
 * Threads  Any; pure.
 */
#ifndef COMMON_BASE_ADDRESS_H
#define COMMON_BASE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/str.h"

#define ADDRESS_TEXT 46

struct address {
    uint8_t b[16]; /* IPv4 as ::ffff:a.b.c.d */
};

bool address_parse(struct str text, struct address *out); /* false leaves *out untouched */
/* The canonical spelling: dotted for IPv4, RFC 5952 for IPv6. */
void address_format(const struct address *address, char text[ADDRESS_TEXT]);
bool address_equal(const struct address *a, const struct address *b);

#endif

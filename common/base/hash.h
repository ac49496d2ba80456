/*
 * hash - spreads keys that clients choose over the buckets of a table.
 *
 * What     Not for secrets, and not to be stored: with another seed it is another function. The
 *          seed is random and a program's own, so a client cannot find keys that fall into one
 *          bucket.
 * Threads  Any.
 */
#ifndef COMMON_BASE_HASH_H
#define COMMON_BASE_HASH_H

#include <stdint.h>

/* Of a key of 16 bytes: an address, the start of a digest. */
uint64_t hash_key(const uint8_t key[16], uint64_t seed);

#endif

/*
 * throttle - how often a client failed in the current minute, by its address and by its network.
 *
 * What     A failure counts twice: for the address (an IPv4 address, an IPv6 /64) and for the
 *          network around it (a /24, a /48), which has a bound THROTTLE_WIDER times as high:
 *          the owner of a network can use a new address for each attempt. A table of fixed size.
 *          When it is full of those that failed in this minute, the one with the fewest failures in
 *          reach makes room: many clients can then forget each other's few failures, but the table
 *          never grows and never refuses who did not fail.
 * Owns     throttle_new() gives what throttle_free() takes back.
 * Threads  One.
 */
#ifndef COMMON_HTTP_THROTTLE_H
#define COMMON_HTTP_THROTTLE_H

#include "common/base/ip.h"

#define THROTTLE_WIDER 16

struct throttle;

/* `max` failures a minute and address. `seed` is random, so that clients cannot aim at an entry. */
struct throttle *throttle_new(uint32_t max, uint64_t seed);
void throttle_free(struct throttle *throttle);

/* Counts a failure. True when it fills the minute of address or network: worth a line in the log.
 */
bool throttle_note(struct throttle *throttle, const struct address *address, int64_t now_us);
/* How often it or others of its network did in this minute, as far as the table remembers. */
uint32_t throttle_count(const struct throttle *throttle, const struct address *address,
                        int64_t now_us);
/* The address failed in this minute, or others of its network did THROTTLE_WIDER times, as far as
   the table remembers. */
bool throttle_suspects(const struct throttle *throttle, const struct address *address,
                       int64_t now_us);
/* Seconds until the address is heard again; 0 = now. */
unsigned throttle_wait(const struct throttle *throttle, const struct address *address,
                       int64_t now_us);

#endif

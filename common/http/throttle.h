/*
 * throttle - how often a client failed in the current minute, by its address and by its network.
 *
 * What     A failure counts twice: for the address (an IPv4 address, an IPv6 /64) and for the
 *          network around it (a /24, a /48), whose limit is THROTTLE_WIDER times as high, because
 *          the owner of a network can use a new address for each attempt. The table has a fixed
 *          size. When all entries that an address could use are of this minute, the one with the
 *          fewest failures is replaced. So many clients can displace each other's few failures, but
 *          the table never grows and never refuses a client that did not fail.
 * Owns     Free it with throttle_free().
 * Threads  One.
 */
#ifndef COMMON_HTTP_THROTTLE_H
#define COMMON_HTTP_THROTTLE_H

#include "common/base/ip.h"

#define THROTTLE_WIDER 16

struct throttle;

/* `max` failures per minute and address. `seed` must be random, so that clients cannot target an
   entry. */
struct throttle *throttle_new(uint32_t max, uint64_t seed);
void throttle_free(struct throttle *throttle);

/* Counts a failure. True: the address or its network has just reached its limit for this minute,
   which is worth a line in the log. */
bool throttle_note(struct throttle *throttle, const struct address *address, int64_t now_us);
/* How often addresses of its network, this one included, failed in this minute, as far as the table
   still has it. */
uint32_t throttle_count(const struct throttle *throttle, const struct address *address,
                        int64_t now_us);
/* True: the address failed in this minute, or its network did at least THROTTLE_WIDER times, as far
   as the table still has it. */
bool throttle_suspects(const struct throttle *throttle, const struct address *address,
                       int64_t now_us);
/* Seconds until the address may try again; 0 = now. */
unsigned throttle_wait(const struct throttle *throttle, const struct address *address,
                       int64_t now_us);

#endif

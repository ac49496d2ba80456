/*
 * throttle - how often an address failed to authenticate in the current minute.
 *
 * What     A table of fixed size. When it is full of addresses that failed in this minute, the one
 *          with the fewest failures in reach makes room: many addresses can then forget each
 *          other's few failures, but a table never grows and never refuses who did not fail.
 * Owns     throttle_new() gives what throttle_free() takes back.
 * Threads  One.
 */
#ifndef GATEWAY_THROTTLE_H
#define GATEWAY_THROTTLE_H

#include "common/base/address.h"

struct throttle;

/* `most` failures a minute and address. `seed` is random, so that nobody can aim at a place. */
struct throttle *throttle_new(uint32_t most, uint64_t seed);
void throttle_free(struct throttle *throttle);

/* Counts a failure. True when it is the one that fills the minute: worth a line in the log. */
bool throttle_note(struct throttle *throttle, const struct address *address, int64_t now_us);
/* The address failed in this minute, as far as the table remembers. */
bool throttle_suspects(const struct throttle *throttle, const struct address *address,
                       int64_t now_us);
/* Seconds until the address is heard again; 0 = now. */
unsigned throttle_wait(const struct throttle *throttle, const struct address *address,
                       int64_t now_us);

#endif

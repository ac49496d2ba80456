/*
 * allowance - how many look-ups of keys that turn out to be nobody's this loop may still cause.
 *
 * What     Anybody can make up keys with a right checksum, a new one for each request and from as
 *          many addresses as they own, so neither the throttle nor what is remembered of a refusal
 *          bounds what they cost the database. This does: ALLOWANCE_MOST at once, then
 *          ALLOWANCE_PER_SECOND. A look-up that finds its key costs nothing, so a gateway that has
 *          just started meets any number of good keys. The last half is for addresses that have not
 *          failed lately: strangers with few addresses cannot use it up.
 * Threads  One.
 */
#ifndef GATEWAY_ALLOWANCE_H
#define GATEWAY_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#define ALLOWANCE_MOST       1000
#define ALLOWANCE_PER_SECOND 100

struct allowance {
    int64_t spent_us; /* of the time in which it is earned */
    int64_t as_of_us; /* monotonic */
};

/* Takes one look-up's worth before it is asked. `suspect`: its address failed in this minute. */
bool allowance_take(struct allowance *allowance, bool suspect, int64_t mono_us);
/* The key was somebody's, or could not be asked about. */
void allowance_give_back(struct allowance *allowance);

#endif

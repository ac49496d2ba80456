/*
 * share - how much of the dashboard one session, or one organization, may have.
 *
 * What     A share is used up by requests and grows again with time: `per_second` on average,
 *          `burst` at once after a pause, and `at_once` that are not done with. One that is left is
 *          remembered in a table of fixed size, in which those unused for longest make room. Those
 *          in use stay, so a table whose places are all in use has none for another.
 * Owns     shares_new() gives what shares_free() takes back. A share that was entered is to be
 *          left.
 * Threads  The loop's.
 */
#ifndef DASHBOARD_SHARE_H
#define DASHBOARD_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/str.h"

struct share_limit {
    uint32_t per_second, burst, at_once;
};

struct share {
    uint8_t whose[16];
    int64_t spent_us; /* of the time in which requests are earned */
    int64_t as_of_us; /* monotonic; 0: never used */
    uint32_t under_way;
    bool is_known; /* by the caller, who sets it: it is in use */
};

struct shares;

/* `seed` is random, so that clients cannot aim at an entry. */
struct shares *shares_new(const struct share_limit *limit, uint64_t seed);
void shares_free(struct shares *shares);

/* One more request of the owner with the hash or id `whose`, at least 16 bytes. NULL: that would be
   too much, for *wait_s seconds at least. */
struct share *shares_enter(struct shares *shares, struct str whose, int64_t mono_us,
                           unsigned *wait_s);
/* The request is done with. NULL is fine. */
void share_leave(struct share *share);

#endif

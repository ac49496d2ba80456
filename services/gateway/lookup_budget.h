/*
 * lookup_budget - how many look-ups of keys that turn out to be unknown this loop may still cause.
 *
 * What     Anybody can make up keys with a right checksum, a new one for each request and from as
 *          many addresses as they own, so neither the throttle nor what is remembered of a refusal
 *          bounds what they cost the database. This does: LOOKUP_BUDGET_MAX at once, then
 *          LOOKUP_BUDGET_PER_SECOND. A look-up that finds its key costs nothing, so a gateway that
 *          has just started meets any number of good keys. The last half is for who has not failed
 *          lately, and the last quarter for networks from which a good key came lately
 *          (familiar.h): strangers cannot use it up, however many addresses they have.
 * Threads  One.
 */
#ifndef GATEWAY_LOOKUP_BUDGET_H
#define GATEWAY_LOOKUP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define LOOKUP_BUDGET_MAX        1000
#define LOOKUP_BUDGET_PER_SECOND 100

enum standing {
    STANDING_SUSPECT,  /* failed in this minute: see throttle.h */
    STANDING_STRANGER, /* nothing is known */
    STANDING_FAMILIAR, /* a good key came from that network lately */
};

struct lookup_budget {
    int64_t spent_us; /* of the time in which it is earned */
    int64_t as_of_us; /* monotonic */
};

/* Takes one look-up's worth before it is asked. */
bool lookup_budget_take(struct lookup_budget *budget, enum standing standing, int64_t mono_us);
/* The key was known after all, or could not be looked up. */
void lookup_budget_refund(struct lookup_budget *budget);

#endif

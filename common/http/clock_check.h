/*
 * clock_check - how far the clock of this machine is from that of the services.
 *
 * What     Deadlines and the times of audit entries are made here and checked there. A reply that
 *          carries the time says at least how far the clocks are apart: it was written between the
 *          question and its arrival, so whatever lies outside of that is the clocks' fault and not
 *          the way's. One service may have a wrong clock itself: of the latest three replies
 *          the nearest one counts.
 * Threads  One.
 */
#ifndef COMMON_HTTP_CLOCK_CHECK_H
#define COMMON_HTTP_CLOCK_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_CHECK_MS      5000 /* from one request to the next */
#define CLOCK_CHECK_REPLIES 3
#define CLOCK_APART_MS      5000 /* so far apart they must not be */

struct clock_check {
    int64_t apart_ms[CLOCK_CHECK_REPLIES]; /* ours less theirs */
    unsigned n;                            /* replies so far */
};

/* Unix milliseconds: when it was asked and heard by our clock, what the reply says by theirs. */
void clock_check_note(struct clock_check *check, int64_t asked_ms, int64_t heard_ms,
                      int64_t theirs_ms);
/* Positive: our clock is ahead. 0 without any reply. */
int64_t clock_check_apart_ms(const struct clock_check *check);
/* Whole seconds, rounded away from 0. */
int64_t clock_check_apart_s(const struct clock_check *check);
bool clock_check_is_apart(const struct clock_check *check);

#endif

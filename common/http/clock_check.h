/*
 * clock_check - how far the clock of this machine is from the services' clocks.
 *
 * What     Deadlines and the times of audit entries are set here and checked there. A reply that
 *          carries the time gives a lower bound: it was written between the request and its arrival,
 *          so only a difference beyond that interval is due to the clocks. Since a service may itself
 *          have a wrong clock, the smallest difference of the latest three replies counts.
 * Owns     Nothing.
 * Threads  The owner's; pure.
 */
#ifndef COMMON_HTTP_CLOCK_CHECK_H
#define COMMON_HTTP_CLOCK_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_CHECK_MS      5000 /* from one request to the next */
#define CLOCK_CHECK_REPLIES 3
#define CLOCK_APART_MS      5000 /* the largest difference allowed */

struct clock_check {
    int64_t apart_ms[CLOCK_CHECK_REPLIES]; /* ours minus theirs */
    unsigned n;                            /* replies so far */
};

/* Unix milliseconds: the times of request and reply by our clock, and the time in the reply. */
void clock_check_note(struct clock_check *check, int64_t asked_ms, int64_t heard_ms,
                      int64_t theirs_ms);
/* Positive: our clock is ahead. 0 if there was no reply. */
int64_t clock_check_apart_ms(const struct clock_check *check);
/* Whole seconds, rounded away from 0. */
int64_t clock_check_apart_s(const struct clock_check *check);
bool clock_check_is_apart(const struct clock_check *check);

#endif

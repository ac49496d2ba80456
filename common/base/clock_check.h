/*
 * clock_check - how far the clock of this machine is from other clocks, and whether it is the wrong
 * one.
 *
 * What     Deadlines and the times of audit entries are set by one program, and checked by others and
 *          by the database. A reply that carries the time gives a lower bound: it was written between
 *          the request and its arrival, so only a difference beyond that interval is due to the
 *          clocks. Of one source's latest three replies the smallest difference counts, since
 *          replicas may differ, and may not all know every source. With other sources the majority
 *          is right: the median of all clocks, ours included, so a single clock that is wrong is
 *          nobody else's fault. A source that has said nothing for a minute no longer counts: since
 *          then, its clock or ours may have been set.
 * Owns     Nothing.
 * Threads  The owner's; pure.
 */
#ifndef COMMON_BASE_CLOCK_CHECK_H
#define COMMON_BASE_CLOCK_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_CHECK_MS      5000 /* from one request to the next */
#define CLOCK_CHECK_REPLIES 3
#define CLOCK_CHECK_SILENT  12   /* requests without a reply until it is forgotten: a minute */
#define CLOCK_SKEW_MAX_MS   5000 /* the largest difference allowed */

enum clock_source { CLOCK_OF_ACCESS, CLOCK_OF_DATABASE, CLOCK_SOURCES };

struct clock_check {
    struct {
        int64_t skew_ms[CLOCK_CHECK_REPLIES]; /* ours minus theirs */
        unsigned n;                           /* replies so far */
        unsigned silent;                      /* requests since the latest of them */
    } of[CLOCK_SOURCES];
};

/* Ours minus theirs, by which both are at least apart: Unix milliseconds, the times of request and
   reply by our clock, and the time in the reply. */
int64_t clock_difference_ms(int64_t asked_ms, int64_t heard_ms, int64_t theirs_ms);
bool clock_is_skewed(int64_t difference_ms);
/* Whole seconds, rounded away from 0. */
int64_t clock_seconds(int64_t difference_ms);

void clock_check_note(struct clock_check *check, enum clock_source source, int64_t asked_ms,
                      int64_t heard_ms, int64_t theirs_ms);
/* At each request: forgets the sources that have been silent for too long. */
void clock_check_ask(struct clock_check *check);
/* Positive: our clock is ahead of that source's. 0 if there was no reply. */
int64_t clock_check_skew_ms(const struct clock_check *check, enum clock_source source);
/* How far our clock is from the median of all; of two clocks that differ, ours counts as right. */
int64_t clock_check_wrong_ms(const struct clock_check *check);
/* Whether our clock would be nearer to that of every known source, of which there is one, if it went
   ahead by that much: by the latest reply of each. */
bool clock_check_confirms(const struct clock_check *check, int64_t jump_ms);

#endif

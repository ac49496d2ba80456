/*
 * pace - when the sender takes its next turn.
 *
 * What     At once when there is something to do, but after a rest as long as the turn before took,
 *          or longer: the database belongs to those first who wait for an answer. Every `poll_us`
 * in any case, should no doorbell have rung. All times as of clock_mono_us(). Threads  One thread
 * at a time; pure.
 */
#ifndef SERVICES_WEBHOOK_PACE_H
#define SERVICES_WEBHOOK_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
    int64_t poll_us;
    int64_t turn_due_us; /* when there is something to do */
    int64_t poll_due_us; /* in any case */
};

bool pace_polls(const struct pace *pace, int64_t now_us);
bool pace_is_due(const struct pace *pace, int64_t now_us, bool has_work);
int pace_patience_ms(const struct pace *pace, int64_t now_us, bool has_work);

/* A turn has begun, and has ended. `is_idle`: nobody waits for more, since all that was sent
   failed, or a backlog is being fanned out. */
void pace_begin(struct pace *pace, int64_t now_us);
void pace_rest(struct pace *pace, int64_t now_us, int64_t took_us, bool is_idle);
void pace_retry(struct pace *pace, int64_t now_us); /* it failed */

#endif

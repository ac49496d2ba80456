/*
 * schedule - when the sender begins its next transaction.
 *
 * What     When there is something to do: after a rest as long as the transaction before took, or
 *          longer, as requests that wait for an answer have the database first. Without a notice:
 *          every `poll_us`. All times as of clock_mono_us().
 * Threads  One thread at a time; pure.
 */
#ifndef SERVICES_WEBHOOK_SCHEDULE_H
#define SERVICES_WEBHOOK_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct schedule {
    int64_t poll_us;
    int64_t work_due_us; /* when there is something to do */
    int64_t poll_due_us; /* in any case */
};

bool schedule_polls(const struct schedule *schedule, int64_t now_us);
bool schedule_is_due(const struct schedule *schedule, int64_t now_us, bool has_work);
int schedule_timeout_ms(const struct schedule *schedule, int64_t now_us, bool has_work);

/* A transaction has begun, and has ended. `is_idle`: no more is wanted, because everything sent has
   failed or a backlog is being fanned out. */
void schedule_begin(struct schedule *schedule, int64_t now_us);
void schedule_rest(struct schedule *schedule, int64_t now_us, int64_t took_us, bool is_idle);
void schedule_retry(struct schedule *schedule, int64_t now_us); /* it failed */

#endif

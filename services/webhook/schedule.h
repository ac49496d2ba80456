/*
 * schedule - when the sender begins its next transaction.
 *
 * What     If there is work: after a rest three times as long as the last transaction took, so that
 *          clients' requests get the database first and a transaction has more to do. Without work:
 *          every `poll_us`. All times are clock_mono_us().
 * Threads  Pure; used by one thread at a time.
 */
#ifndef SERVICES_WEBHOOK_SCHEDULE_H
#define SERVICES_WEBHOOK_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct schedule {
    int64_t poll_us;
    int64_t work_due_us; /* if there is work */
    int64_t poll_due_us; /* in any case */
};

bool schedule_polls(const struct schedule *schedule, int64_t now_us);
bool schedule_is_due(const struct schedule *schedule, int64_t now_us, bool has_work);
int schedule_timeout_ms(const struct schedule *schedule, int64_t now_us, bool has_work);

/* Called when a transaction has begun, and when it has ended. `is_idle`: no receiver waits, because
   everything sent has failed or a backlog is being fanned out; the rest is longer then. */
void schedule_begin(struct schedule *schedule, int64_t now_us);
void schedule_rest(struct schedule *schedule, int64_t now_us, int64_t took_us, bool is_idle);
void schedule_retry(struct schedule *schedule, int64_t now_us); /* it failed */

#endif

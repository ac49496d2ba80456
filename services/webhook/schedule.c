#include "services/webhook/schedule.h"

#include <limits.h>

#include "common/base/clock.h"

enum {
    REST_TIMES = 3,           /* the time that the last transaction took */
    REST_US = 4 * 1000,       /* at least */
    REST_IDLE_US = 20 * 1000, /* at least, if no receiver waits */
    REST_MAX_US = 50 * 1000,  /* at most, so that an overloaded machine does not fall behind */
    RETRY_US = 100 * 1000,
};

bool schedule_polls(const struct schedule *schedule, int64_t now_us)
{
    return now_us >= schedule->poll_due_us;
}

bool schedule_is_due(const struct schedule *schedule, int64_t now_us, bool has_work)
{
    return schedule_polls(schedule, now_us) || (has_work && now_us >= schedule->work_due_us);
}

int schedule_timeout_ms(const struct schedule *schedule, int64_t now_us, bool has_work)
{
    const int64_t due_us = has_work && schedule->work_due_us < schedule->poll_due_us
                               ? schedule->work_due_us
                               : schedule->poll_due_us;

    return clock_left_ms(due_us, now_us, INT_MAX);
}

void schedule_begin(struct schedule *schedule, int64_t now_us)
{
    if (schedule_polls(schedule, now_us))
        schedule->poll_due_us = now_us + schedule->poll_us;
}

void schedule_rest(struct schedule *schedule, int64_t now_us, int64_t took_us, bool is_idle)
{
    const int64_t min_us = is_idle ? REST_IDLE_US : REST_US;
    int64_t rest_us = REST_TIMES * took_us;

    if (rest_us < min_us)
        rest_us = min_us;
    schedule->work_due_us = now_us + (rest_us < REST_MAX_US ? rest_us : REST_MAX_US);
}

void schedule_retry(struct schedule *schedule, int64_t now_us)
{
    schedule->work_due_us = schedule->poll_due_us = now_us + RETRY_US;
}

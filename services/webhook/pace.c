#include "services/webhook/pace.h"

enum {
    REST_US = 4 * 1000,       /* at least */
    REST_IDLE_US = 20 * 1000, /* the same, when nobody waits */
    REST_MOST_US = 50 * 1000, /* a machine that is short of time must not fall behind */
    RETRY_US = 100 * 1000,
};

bool pace_polls(const struct pace *pace, int64_t now_us)
{
    return now_us >= pace->poll_due_us;
}

bool pace_is_due(const struct pace *pace, int64_t now_us, bool has_work)
{
    return pace_polls(pace, now_us) || (has_work && now_us >= pace->turn_due_us);
}

int pace_patience_ms(const struct pace *pace, int64_t now_us, bool has_work)
{
    const int64_t due_us =
        has_work && pace->turn_due_us < pace->poll_due_us ? pace->turn_due_us : pace->poll_due_us;

    return due_us > now_us ? (int)((due_us - now_us + 999) / 1000) : 0;
}

void pace_begin(struct pace *pace, int64_t now_us)
{
    if (pace_polls(pace, now_us))
        pace->poll_due_us = now_us + pace->poll_us;
}

void pace_rest(struct pace *pace, int64_t now_us, int64_t took_us, bool is_idle)
{
    const int64_t least_us = is_idle ? REST_IDLE_US : REST_US;
    int64_t rest_us = is_idle ? 2 * took_us : took_us;

    if (rest_us < least_us)
        rest_us = least_us;
    pace->turn_due_us = now_us + (rest_us < REST_MOST_US ? rest_us : REST_MOST_US);
}

void pace_retry(struct pace *pace, int64_t now_us)
{
    pace->turn_due_us = pace->poll_due_us = now_us + RETRY_US;
}

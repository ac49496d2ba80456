#include "common/base/clock.h"

#include <time.h>

static int64_t read_us(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_us(void)
{
    return read_us(CLOCK_REALTIME);
}

int64_t clock_mono_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int clock_left_ms(int64_t due_us, int64_t now_us, int max_ms)
{
    if (due_us <= now_us)
        return 0;
    return due_us - now_us < max_ms * INT64_C(1000) ? (int)((due_us - now_us + 999) / 1000)
                                                    : max_ms;
}

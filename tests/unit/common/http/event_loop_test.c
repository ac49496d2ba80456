#include "common/http/event_loop.h"

#include <criterion/criterion.h>

#include "common/base/clock.h"
#include "common/http/timer.h"
#include "tests/support/set_clock.h"

enum { HOUR_MS = 3600 * 1000, TIMEOUT_MS = 30, SLICE_MS = 5, WITHIN_MS = 10000 };

static int n_fired;

static void on_timeout(struct timer *timer)
{
    n_fired++;
}

static void run_for(h2o_loop_t *loop, int64_t ms, int until)
{
    const int64_t until_us = clock_mono_us() + ms * 1000;

    while (n_fired < until && clock_mono_us() < until_us)
        (void)h2o_evloop_run(loop, SLICE_MS);
}

/* A timer that was started before fires in its time, neither at once nor an hour later. */
static void expect_unmoved(int64_t by_ms)
{
    h2o_loop_t *loop = event_loop_create();
    struct timer soon = {0}, late = {0};
    struct timers timers;

    timers_init(&timers, loop);
    (void)h2o_evloop_run(loop, 0);
    timer_start(&timers, &soon, TIMEOUT_MS, on_timeout);
    timer_start(&timers, &late, HOUR_MS / 2, on_timeout);
    set_clock_ahead_ms = by_ms;
    run_for(loop, WITHIN_MS, 1);
    cr_expect_eq(n_fired, 1);
    run_for(loop, TIMEOUT_MS, 2);
    cr_expect_eq(n_fired, 1);
    cr_expect_not(timer_is_running(&soon));
    cr_expect(timer_is_running(&late));
    timer_stop(&late);
    timers_release(&timers);
    h2o_evloop_destroy(loop);
}

Test(event_loop, fires_in_time_when_the_clock_is_set_ahead)
{
    expect_unmoved(HOUR_MS);
}

Test(event_loop, fires_in_time_when_the_clock_is_set_back)
{
    expect_unmoved(-HOUR_MS);
}

Test(event_loop, begins_with_the_time_of_day)
{
    h2o_loop_t *loop = event_loop_create();

    (void)h2o_evloop_run(loop, 0);
    cr_expect_leq(llabs((int64_t)h2o_now(loop) - set_clock_real_us() / 1000), WITHIN_MS);
    h2o_evloop_destroy(loop);
}

#include "common/http/timer.h"

#include <criterion/criterion.h>

#include "common/base/clock.h"
#include "common/base/str.h"

enum { SOON_MS = 5, LATER_MS = 20, NEVER_MS = 3600 * 1000, WITHIN_US = 30 * 1000 * 1000 };

static struct timers timers;

struct counted {
    struct timer timer;
    int n;
};

static void on_due(struct timer *timer)
{
    H2O_STRUCT_FROM_MEMBER(struct counted, timer, timer)->n++;
}

static void start_again(struct timer *timer)
{
    cr_expect_not(timer_is_running(timer));
    on_due(timer);
    timer_start(&timers, timer, 0, on_due);
}

static void set_up(void)
{
    timers_init(&timers, h2o_evloop_create());
    (void)h2o_evloop_run(timers.loop, 0);
}

static void tear_down(void)
{
    timers_release(&timers);
    h2o_evloop_destroy(timers.loop);
}

TestSuite(timer, .init = set_up, .fini = tear_down);

static void run_until(const int *n, int wanted)
{
    const int64_t until_us = clock_mono_us() + WITHIN_US;

    while (*n < wanted && clock_mono_us() < until_us)
        (void)h2o_evloop_run(timers.loop, 100);
    cr_assert_eq(*n, wanted);
}

Test(timer, runs_once_at_its_time)
{
    struct counted soon = {0}, later = {0};

    timer_start(&timers, &later.timer, LATER_MS, on_due);
    timer_start(&timers, &soon.timer, SOON_MS, on_due);
    cr_expect(timer_is_running(&soon.timer));
    run_until(&later.n, 1);
    cr_expect_eq(soon.n, 1);
    cr_expect_not(timer_is_running(&soon.timer));
}

Test(timer, starts_again_from_its_own_function)
{
    struct counted twice = {0};

    timer_start(&timers, &twice.timer, SOON_MS, start_again);
    run_until(&twice.n, 2);
    cr_expect_not(timer_is_running(&twice.timer));
}

Test(timer, that_is_running_starts_again_with_the_new_time)
{
    struct counted first = {0}, second = {0}, end = {0};

    timer_start(&timers, &first.timer, SOON_MS, on_due);
    timer_start(&timers, &first.timer, NEVER_MS, on_due);
    timer_start(&timers, &second.timer, NEVER_MS, on_due);
    timer_start(&timers, &second.timer, SOON_MS, on_due);
    timer_start(&timers, &end.timer, LATER_MS, on_due);
    run_until(&end.n, 1);
    cr_expect_eq(first.n, 0);
    cr_expect_eq(second.n, 1);
    timer_stop(&first.timer);
}

Test(timer, that_was_stopped_does_not_run)
{
    struct counted stopped = {0}, never_started = {0}, end = {0};

    timer_start(&timers, &stopped.timer, SOON_MS, on_due);
    timer_start(&timers, &end.timer, LATER_MS, on_due);
    timer_stop(&stopped.timer);
    timer_stop(&stopped.timer);
    timer_stop(&never_started.timer);
    run_until(&end.n, 1);
    cr_expect_eq(stopped.n, 0);
}

Test(timer, shares_a_list_with_others_of_its_duration)
{
    struct counted some[100] = {0};

    for (size_t i = 0; i < ARRAY_SIZE(some); i++)
        timer_start(&timers, &some[i].timer, SOON_MS + (int64_t)i % 2, on_due);
    for (size_t i = 0; i < ARRAY_SIZE(some); i++)
        run_until(&some[i].n, 1);
}

#include "common/base/clock.h"

#include <criterion/criterion.h>
#include <time.h>

Test(clock, returns_unix_time_in_microseconds)
{
    int64_t before = (int64_t)time(NULL), now = clock_us(), after = (int64_t)time(NULL);

    /* time() reads a coarser clock that may be a tick behind. */
    cr_assert_geq(now / 1000000, before);
    cr_assert_leq(now / 1000000, after + 1);
}

Test(clock, never_runs_backwards_when_monotonic)
{
    int64_t last = clock_mono_us();

    for (int i = 0; i < 10000; i++) {
        int64_t now = clock_mono_us();

        cr_assert_geq(now, last);
        last = now;
    }
    cr_assert_gt(last, 0);
}

Test(clock, rounds_what_is_left_up_and_bounds_it)
{
    cr_assert_eq(clock_left_ms(5000, 5000, 10), 0);
    cr_assert_eq(clock_left_ms(5000, 6000, 10), 0);
    cr_assert_eq(clock_left_ms(5001, 5000, 10), 1);
    cr_assert_eq(clock_left_ms(6000, 5000, 10), 1);
    cr_assert_eq(clock_left_ms(14999, 5000, 10), 10);
    cr_assert_eq(clock_left_ms(INT64_MAX, 5000, 10), 10);
    cr_assert_eq(clock_left_ms(5001, 5000, 0), 0);
}

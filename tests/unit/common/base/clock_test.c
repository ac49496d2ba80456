#include "common/base/clock.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/set_clock.h"

enum { ABOUT_US = 500 * 1000 };

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

/* How far clock_us() is ahead of the time that nobody has set. */
static int64_t ahead_us(void)
{
    return clock_us() - set_clock_real_us();
}

static void expect_s(int64_t ahead_s, int64_t jump_s)
{
    cr_expect_leq(llabs(ahead_us() - ahead_s * 1000000), ABOUT_US);
    cr_expect_leq(llabs(clock_jump_us() - jump_s * 1000000), ABOUT_US);
}

Test(clock, follows_the_machine_unless_it_is_held)
{
    set_clock_ahead_ms = 90000;
    expect_s(90, 0);
    set_clock_ahead_ms = -90000;
    expect_s(-90, 0);
    clock_take_jump();
    set_clock_ahead_ms = 0;
    expect_s(0, 0);
}

Test(clock, that_is_held_goes_on_when_the_machine_is_set)
{
    clock_hold();
    set_clock_ahead_ms = 90000;
    expect_s(0, 90);
    set_clock_ahead_ms = -3600000;
    expect_s(0, -3600);
    set_clock_ahead_ms = 0;
    expect_s(0, 0);
}

Test(clock, that_is_held_takes_over_a_jump_on_request)
{
    clock_hold();
    set_clock_ahead_ms = 90000;
    clock_take_jump();
    expect_s(90, 0);
    set_clock_ahead_ms = 0;
    expect_s(90, -90);
    clock_take_jump();
    expect_s(0, 0);
}

/* As by NTP. */
Test(clock, that_is_held_follows_small_changes)
{
    clock_hold();
    for (int i = 1; i <= 20; i++) {
        set_clock_ahead_ms = i * 500;
        cr_assert_leq(llabs(ahead_us() - i * ABOUT_US), ABOUT_US / 2);
    }
    expect_s(10, 0);
}

#include "services/webhook/schedule.h"

#include <criterion/criterion.h>

#include "common/base/str.h"

enum { MS = 1000, NOW = 5000 * MS };

Test(schedule, polls_now_and_then_though_there_is_nothing_to_do)
{
    struct schedule schedule = {.poll_us = 1000 * MS};

    cr_assert(schedule_is_due(&schedule, NOW, false), "at the start");
    schedule_begin(&schedule, NOW);
    schedule_rest(&schedule, NOW + 10 * MS, 10 * MS, false);
    cr_assert_not(schedule_is_due(&schedule, NOW + 999 * MS, false));
    cr_assert_eq(schedule_timeout_ms(&schedule, NOW + 10 * MS, false), 990);
    cr_assert(schedule_is_due(&schedule, NOW + 1000 * MS, false));
    cr_assert_eq(schedule_timeout_ms(&schedule, NOW + 1500 * MS, false), 0);
}

Test(schedule, rests_three_times_as_long_as_the_turn_took_within_bounds)
{
    static const struct {
        int64_t took_us;
        bool is_idle;
        int64_t rest_us;
    } cases[] = {
        {1 * MS, false, 4 * MS}, {10 * MS, false, 30 * MS}, {900 * MS, false, 50 * MS},
        {1 * MS, true, 20 * MS}, {15 * MS, true, 45 * MS},  {900 * MS, true, 50 * MS},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct schedule schedule = {.poll_due_us = NOW + 1000 * MS};

        schedule_rest(&schedule, NOW, cases[i].took_us, cases[i].is_idle);
        cr_expect_not(schedule_is_due(&schedule, NOW + cases[i].rest_us - 1, true), "%zu", i);
        cr_expect(schedule_is_due(&schedule, NOW + cases[i].rest_us, true), "%zu", i);
        cr_expect_eq(schedule_timeout_ms(&schedule, NOW, true), cases[i].rest_us / MS, "%zu", i);
    }
}

Test(schedule, tries_again_soon_after_a_failure_and_looks_at_everything_then)
{
    struct schedule schedule = {0};

    schedule_begin(&schedule, NOW);
    schedule_retry(&schedule, NOW + 3000 * MS);
    cr_assert_not(schedule_is_due(&schedule, NOW + 3099 * MS, true));
    cr_assert(schedule_polls(&schedule, NOW + 3100 * MS));
}

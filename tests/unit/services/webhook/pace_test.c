#include "services/webhook/pace.h"

#include <criterion/criterion.h>

enum { MS = 1000, NOW = 5000 * MS };

Test(pace, polls_now_and_then_though_there_is_nothing_to_do)
{
    struct pace pace = {.poll_us = 1000 * MS};

    cr_assert(pace_is_due(&pace, NOW, false), "at the start");
    pace_begin(&pace, NOW);
    pace_rest(&pace, NOW + 10 * MS, 10 * MS, false);
    cr_assert_not(pace_is_due(&pace, NOW + 999 * MS, false));
    cr_assert_eq(pace_patience_ms(&pace, NOW + 10 * MS, false), 990);
    cr_assert(pace_is_due(&pace, NOW + 1000 * MS, false));
    cr_assert_eq(pace_patience_ms(&pace, NOW + 1500 * MS, false), 0);
}

Test(pace, rests_as_long_as_the_turn_took_within_bounds)
{
    static const struct {
        int64_t took_us;
        bool is_idle;
        int64_t rest_us;
    } cases[] = {
        {1 * MS, false, 4 * MS}, {10 * MS, false, 10 * MS}, {900 * MS, false, 50 * MS},
        {1 * MS, true, 20 * MS}, {15 * MS, true, 30 * MS},  {900 * MS, true, 50 * MS},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pace pace = {.poll_due_us = NOW + 1000 * MS};

        pace_rest(&pace, NOW, cases[i].took_us, cases[i].is_idle);
        cr_expect_not(pace_is_due(&pace, NOW + cases[i].rest_us - 1, true), "%zu", i);
        cr_expect(pace_is_due(&pace, NOW + cases[i].rest_us, true), "%zu", i);
        cr_expect_eq(pace_patience_ms(&pace, NOW, true), cases[i].rest_us / MS, "%zu", i);
    }
}

Test(pace, tries_again_soon_after_a_failure_and_looks_at_everything_then)
{
    struct pace pace = {0};

    pace_begin(&pace, NOW);
    pace_retry(&pace, NOW + 3000 * MS);
    cr_assert_not(pace_is_due(&pace, NOW + 3099 * MS, true));
    cr_assert(pace_polls(&pace, NOW + 3100 * MS));
}

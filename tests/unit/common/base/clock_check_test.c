#include "common/base/clock_check.h"

#include <criterion/criterion.h>

static int64_t skew_ms(const struct clock_check *check)
{
    return clock_check_skew_ms(check, CLOCK_OF_ACCESS);
}

Test(clock_check, says_nothing_before_an_answer)
{
    const struct clock_check check = {0};

    cr_expect_eq(skew_ms(&check), 0);
    cr_expect_eq(clock_seconds(skew_ms(&check)), 0);
    cr_expect_eq(clock_check_wrong_ms(&check), 0);
}

Test(clock_check, does_not_take_a_slow_answer_for_a_wrong_clock)
{
    cr_expect_eq(clock_difference_ms(100000, 109000, 104500), 0);
}

/* Then it is set while we wait: whatever the answer says, it is in doubt. */
Test(clock_check, takes_a_clock_that_went_back_meanwhile_for_wrong)
{
    cr_expect_eq(clock_difference_ms(100000, 10000, 100002), -90002);
}

Test(clock_check, distinguishes_ahead_from_behind)
{
    const int64_t ahead_ms = clock_difference_ms(100000, 100010, 94999);
    const int64_t behind_ms = clock_difference_ms(100000, 100010, 105010);

    cr_expect_eq(ahead_ms, 5001);
    cr_expect_eq(clock_seconds(ahead_ms), 6);
    cr_expect(clock_is_skewed(ahead_ms));
    cr_expect_eq(behind_ms, -5000);
    cr_expect_eq(clock_seconds(behind_ms), -5);
    cr_expect_not(clock_is_skewed(behind_ms));
}

static void note(struct clock_check *check, enum clock_source source, int64_t theirs_ms)
{
    clock_check_note(check, source, 100000, 100000, theirs_ms);
}

Test(clock_check, believes_the_nearest_of_three_answers)
{
    struct clock_check check = {0};

    note(&check, CLOCK_OF_ACCESS, 160000);
    cr_expect_eq(skew_ms(&check), -60000);
    note(&check, CLOCK_OF_ACCESS, 99990);
    note(&check, CLOCK_OF_ACCESS, 160000);
    cr_expect_eq(skew_ms(&check), 10);
    note(&check, CLOCK_OF_ACCESS, 160000);
    cr_expect_eq(skew_ms(&check), 10);
    note(&check, CLOCK_OF_ACCESS, 170000);
    cr_expect_eq(skew_ms(&check), -60000);
}

/* Whose clock is wrong, if theirs show these times when ours shows 100 s. */
static int64_t wrong_ms(int64_t access_ms, int64_t database_ms)
{
    struct clock_check check = {0};

    note(&check, CLOCK_OF_ACCESS, access_ms);
    note(&check, CLOCK_OF_DATABASE, database_ms);
    return clock_check_wrong_ms(&check);
}

Test(clock_check, blames_the_clock_that_is_alone)
{
    cr_expect_eq(wrong_ms(106000, 100001), -1, "that of access");
    cr_expect_eq(wrong_ms(100000, 10000), 0, "that of the database");
    cr_expect_eq(wrong_ms(106000, 106100), -6000, "ours");
    cr_expect_eq(wrong_ms(10000, 9000), 90000, "ours");
    cr_expect_eq(wrong_ms(106000, 10000), 0, "no two agree, and ours is in the middle");
}

Test(clock_check, blames_nobody_if_there_are_two_clocks)
{
    struct clock_check check = {0};

    note(&check, CLOCK_OF_ACCESS, 190000);
    cr_expect_eq(clock_check_wrong_ms(&check), 0);
    note(&check, CLOCK_OF_DATABASE, 190000);
    cr_expect_eq(clock_check_wrong_ms(&check), -90000);
}

Test(clock_check, forgets_a_source_that_says_nothing_for_a_minute)
{
    struct clock_check check = {0};

    for (int i = 0; i < 2; i++) {
        note(&check, CLOCK_OF_DATABASE, 190000);
        for (int ms = 0; ms < 60000; ms += CLOCK_CHECK_MS) {
            clock_check_ask(&check);
            note(&check, CLOCK_OF_ACCESS, 190000);
            cr_assert_eq(clock_check_wrong_ms(&check), -90000);
        }
    }
    clock_check_ask(&check);
    cr_expect_eq(clock_check_skew_ms(&check, CLOCK_OF_DATABASE), 0);
    cr_expect_eq(clock_check_skew_ms(&check, CLOCK_OF_ACCESS), -90000);
    cr_expect_eq(clock_check_wrong_ms(&check), 0);
    note(&check, CLOCK_OF_DATABASE, 110000);
    cr_expect_eq(clock_check_skew_ms(&check, CLOCK_OF_DATABASE), -10000, "without the old ones");
}

Test(clock_check, confirms_a_jump_towards_all_that_are_known)
{
    struct clock_check check = {0};

    cr_expect_not(clock_check_confirms(&check, 90000), "nobody is known");
    note(&check, CLOCK_OF_ACCESS, 190000);
    cr_expect(clock_check_confirms(&check, 90000));
    cr_expect(clock_check_confirms(&check, 60000), "nearer than before");
    cr_expect_not(clock_check_confirms(&check, -90000));
    cr_expect_not(clock_check_confirms(&check, 3600000));
    note(&check, CLOCK_OF_DATABASE, 100000);
    cr_expect_not(clock_check_confirms(&check, 90000), "the database's clock has not been set");
}

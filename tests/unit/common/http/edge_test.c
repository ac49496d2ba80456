#include "common/http/edge.h"

#include <criterion/criterion.h>

Test(clock_check, says_nothing_before_an_answer)
{
    const struct clock_check check = {.n = 0};

    cr_expect_eq(clock_check_apart_ms(&check), 0);
    cr_expect_eq(clock_check_apart_s(&check), 0);
    cr_expect_not(clock_check_is_apart(&check));
}

Test(clock_check, does_not_take_a_slow_answer_for_a_wrong_clock)
{
    struct clock_check check = {.n = 0};

    clock_check_note(&check, 100000, 109000, 104500);
    cr_expect_eq(clock_check_apart_ms(&check), 0);
}

Test(clock_check, tells_ahead_from_behind)
{
    struct clock_check ahead = {.n = 0}, behind = {.n = 0};

    clock_check_note(&ahead, 100000, 100010, 94999);
    cr_expect_eq(clock_check_apart_ms(&ahead), 5001);
    cr_expect_eq(clock_check_apart_s(&ahead), 6);
    cr_expect(clock_check_is_apart(&ahead));
    clock_check_note(&behind, 100000, 100010, 105010);
    cr_expect_eq(clock_check_apart_ms(&behind), -5000);
    cr_expect_eq(clock_check_apart_s(&behind), -5);
    cr_expect_not(clock_check_is_apart(&behind));
}

Test(clock_check, believes_the_nearest_of_three_answers)
{
    struct clock_check check = {.n = 0};

    clock_check_note(&check, 100000, 100000, 160000);
    cr_expect(clock_check_is_apart(&check));
    clock_check_note(&check, 100000, 100000, 99990);
    clock_check_note(&check, 100000, 100000, 160000);
    cr_expect_eq(clock_check_apart_ms(&check), 10);
    clock_check_note(&check, 100000, 100000, 160000);
    cr_expect_eq(clock_check_apart_ms(&check), 10);
    clock_check_note(&check, 100000, 100000, 170000);
    cr_expect_eq(clock_check_apart_ms(&check), -60000);
}

#include "tests/support/measure.h"

#include <criterion/criterion.h>

Test(measure, percentile_of_one_value_is_that_value)
{
    int64_t one[] = {-7};

    cr_assert_eq(percentile(one, 1, 0), -7);
    cr_assert_eq(percentile(one, 1, 50), -7);
    cr_assert_eq(percentile(one, 1, 100), -7);
}

Test(measure, percentile_goes_from_the_least_to_the_largest)
{
    int64_t five[] = {30, INT64_MIN, 10, INT64_MAX, 20};

    cr_assert_eq(percentile(five, 5, 0), INT64_MIN);
    cr_assert_eq(percentile(five, 5, 25), 10);
    cr_assert_eq(percentile(five, 5, 50), 20);
    cr_assert_eq(percentile(five, 5, 74), 20);
    cr_assert_eq(percentile(five, 5, 75), 30);
    cr_assert_eq(percentile(five, 5, 99), 30);
    cr_assert_eq(percentile(five, 5, 100), INT64_MAX);
}

Test(measure, percentile_is_the_lower_one_of_two_in_the_middle)
{
    int64_t four[] = {4, 3, 2, 1};

    cr_assert_eq(percentile(four, 4, 50), 2);
}

Test(measure, percentile_leaves_one_of_a_hundred_and_one_above_the_ninety_ninth)
{
    int64_t values[101];

    for (int i = 0; i < 101; i++)
        values[i] = 100 - i;
    cr_assert_eq(percentile(values, 101, 99), 99);
}

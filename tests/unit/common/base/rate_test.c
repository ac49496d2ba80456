#include "common/base/rate.h"

#include <criterion/criterion.h>

enum { PRICE = 10, MAX = 50, NOW = 1000 };

static int take_all(struct rate *rate, int64_t now_us)
{
    int n = 0;

    while (n < 100 && rate_take(rate, PRICE, MAX, now_us) == 0)
        n++;
    return n;
}

Test(rate, is_so_much_at_once_and_then_so_much_with_time)
{
    struct rate rate = {0};

    cr_expect_eq(take_all(&rate, NOW), 5);
    cr_expect_eq(take_all(&rate, NOW + 9), 0);
    cr_expect_eq(take_all(&rate, NOW + 30), 3);
    cr_expect_eq(take_all(&rate, NOW + 3600), 5);
}

Test(rate, tells_how_long_until_the_price_can_be_paid)
{
    struct rate rate = {0};

    (void)take_all(&rate, NOW);
    cr_expect_eq(rate_take(&rate, PRICE, MAX, NOW), PRICE);
    cr_expect_eq(rate_take(&rate, PRICE, MAX, NOW + 4), PRICE - 4);
    cr_expect_eq(rate_take(&rate, PRICE, MAX, NOW + PRICE), 0);
}

Test(rate, earns_nothing_from_a_time_that_is_past)
{
    struct rate rate = {0};

    (void)take_all(&rate, NOW);
    cr_expect_eq(take_all(&rate, NOW - 500), 0);
    cr_expect_eq(take_all(&rate, NOW + 10), 1);
}

Test(rate, charges_up_to_the_maximum)
{
    struct rate rate = {0};

    rate_charge(&rate, PRICE, MAX, NOW);
    cr_expect_eq(rate.spent_us, PRICE);
    rate_charge(&rate, INT64_MAX, MAX, NOW);
    cr_expect_eq(rate.spent_us, MAX);
    rate_charge(&rate, PRICE, MAX, NOW + 20);
    cr_expect_eq(rate.spent_us, MAX - 20 + PRICE);
}

Test(rate, gives_a_price_back_while_it_is_spent)
{
    struct rate rate = {0};

    (void)take_all(&rate, NOW);
    rate_refund(&rate, PRICE);
    cr_expect_eq(take_all(&rate, NOW), 1);
    rate_refund(&rate, MAX + 1);
    cr_expect_eq(rate.spent_us, MAX);
}

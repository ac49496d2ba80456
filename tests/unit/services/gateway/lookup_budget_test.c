#include "services/gateway/key_lookup.h"

#include <criterion/criterion.h>

#define SECOND 1000000

static int take_all(struct lookup_budget *budget, enum standing standing, int64_t mono_us)
{
    int n = 0;

    while (n < 10 * LOOKUP_BUDGET_MAX && lookup_budget_take(budget, standing, mono_us))
        n++;
    return n;
}

Test(lookup_budget, is_so_many_at_once_and_then_so_many_a_second)
{
    struct lookup_budget budget = {0};

    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, 5 * SECOND), LOOKUP_BUDGET_MAX);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, 5 * SECOND), 0);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, 6 * SECOND), LOOKUP_BUDGET_PER_SECOND);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, 6 * SECOND + SECOND / 2),
                 LOOKUP_BUDGET_PER_SECOND / 2);
}

Test(lookup_budget, does_not_grow_while_nobody_takes)
{
    struct lookup_budget budget = {0};

    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, SECOND), LOOKUP_BUDGET_MAX);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, 3600LL * SECOND), LOOKUP_BUDGET_MAX);
}

Test(lookup_budget, keeps_a_quarter_for_networks_of_good_keys)
{
    struct lookup_budget budget = {0};

    cr_assert_eq(take_all(&budget, STANDING_STRANGER, SECOND), LOOKUP_BUDGET_MAX / 4 * 3);
    cr_assert_eq(take_all(&budget, STANDING_SUSPECT, SECOND), 0);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, SECOND), LOOKUP_BUDGET_MAX / 4);
}

Test(lookup_budget, keeps_half_for_addresses_that_have_not_failed)
{
    struct lookup_budget budget = {0};

    cr_assert_eq(take_all(&budget, STANDING_SUSPECT, SECOND), LOOKUP_BUDGET_MAX / 2);
    cr_assert_eq(take_all(&budget, STANDING_SUSPECT, SECOND), 0);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, SECOND), LOOKUP_BUDGET_MAX / 2);
}

Test(lookup_budget, is_not_used_up_by_keys_that_are_somebodys)
{
    struct lookup_budget budget = {0};

    for (int i = 0; i < 5 * LOOKUP_BUDGET_MAX; i++) {
        cr_assert(lookup_budget_take(&budget, STANDING_FAMILIAR, SECOND));
        lookup_budget_refund(&budget);
    }
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, SECOND), LOOKUP_BUDGET_MAX);
}

Test(lookup_budget, refunded_late_is_no_gift)
{
    struct lookup_budget budget = {0};

    cr_assert(lookup_budget_take(&budget, STANDING_FAMILIAR, SECOND));
    cr_assert(lookup_budget_take(&budget, STANDING_FAMILIAR, 3600LL * SECOND));
    lookup_budget_refund(&budget);
    lookup_budget_refund(&budget);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, 3600LL * SECOND), LOOKUP_BUDGET_MAX);
}

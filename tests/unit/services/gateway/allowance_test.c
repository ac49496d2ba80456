#include "services/gateway/allowance.h"

#include <criterion/criterion.h>

#define SECOND 1000000

static int take_all(struct allowance *allowance, bool suspect, int64_t mono_us)
{
    int n = 0;

    while (n < 10 * ALLOWANCE_MOST && allowance_take(allowance, suspect, mono_us))
        n++;
    return n;
}

Test(allowance, is_so_many_at_once_and_then_so_many_a_second)
{
    struct allowance allowance = {0};

    cr_assert_eq(take_all(&allowance, false, 5 * SECOND), ALLOWANCE_MOST);
    cr_assert_eq(take_all(&allowance, false, 5 * SECOND), 0);
    cr_assert_eq(take_all(&allowance, false, 6 * SECOND), ALLOWANCE_PER_SECOND);
    cr_assert_eq(take_all(&allowance, false, 6 * SECOND + SECOND / 2), ALLOWANCE_PER_SECOND / 2);
}

Test(allowance, does_not_grow_while_nobody_takes)
{
    struct allowance allowance = {0};

    cr_assert_eq(take_all(&allowance, false, SECOND), ALLOWANCE_MOST);
    cr_assert_eq(take_all(&allowance, false, 3600LL * SECOND), ALLOWANCE_MOST);
}

Test(allowance, keeps_half_for_addresses_that_have_not_failed)
{
    struct allowance allowance = {0};

    cr_assert_eq(take_all(&allowance, true, SECOND), ALLOWANCE_MOST / 2);
    cr_assert_eq(take_all(&allowance, true, SECOND), 0);
    cr_assert_eq(take_all(&allowance, false, SECOND), ALLOWANCE_MOST / 2);
}

Test(allowance, is_not_used_up_by_keys_that_are_somebodys)
{
    struct allowance allowance = {0};

    for (int i = 0; i < 5 * ALLOWANCE_MOST; i++) {
        cr_assert(allowance_take(&allowance, false, SECOND));
        allowance_give_back(&allowance);
    }
    cr_assert_eq(take_all(&allowance, false, SECOND), ALLOWANCE_MOST);
}

Test(allowance, given_back_late_is_no_gift)
{
    struct allowance allowance = {0};

    cr_assert(allowance_take(&allowance, false, SECOND));
    cr_assert(allowance_take(&allowance, false, 3600LL * SECOND));
    allowance_give_back(&allowance);
    allowance_give_back(&allowance);
    cr_assert_eq(take_all(&allowance, false, 3600LL * SECOND), ALLOWANCE_MOST);
}

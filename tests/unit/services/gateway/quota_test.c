#include "services/gateway/quota.h"

#include <criterion/criterion.h>

static const struct quota_limits ten = {.key = 10, .organization = 25};
static const struct quota_limits many = {.key = 1600, .organization = 4000};

static struct quota quota;

static void grant(uint32_t granted, uint32_t key_left, uint32_t organization_left)
{
    quota_grant(&quota, quota.window, granted, (struct quota_limits){key_left, organization_left});
}

Test(quota, asks_before_the_first_request_of_a_window)
{
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_ASK);
    cr_expect_eq(quota.window, 100);
    cr_expect_eq(quota_want(&quota, 1), 1);
    grant(1, 9, 24);
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_TAKEN);
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_ASK);
}

Test(quota, counts_down_one_by_one_for_the_client)
{
    cr_expect_eq(quota_take(&quota, 1000, many), QUOTA_ASK);
    cr_expect_eq(quota_want(&quota, 1), 100);
    grant(100, 1500, 3900);
    for (uint32_t i = 1; i <= 100; i++) {
        cr_expect_eq(quota_take(&quota, 1000, many), QUOTA_TAKEN);
        cr_expect_eq(quota_view(&quota).remaining, 1600 - i);
    }
    cr_expect_eq(quota_view(&quota).limit, 1600);
    cr_expect_eq(quota_view(&quota).reset_s, 1010);
}

Test(quota, requests_one_for_each_waiting_request_up_to_the_limit)
{
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_ASK);
    cr_expect_eq(quota_want(&quota, 7), 7);
    cr_expect_eq(quota_want(&quota, 70), 10);
    grant(7, 0, 18);
    cr_expect_eq(quota_want(&quota, 0), 1);
}

Test(quota, is_over_when_nothing_is_granted_until_the_window_ends)
{
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_ASK);
    grant(0, 0, 15);
    cr_expect_eq(quota_take(&quota, 1009, ten), QUOTA_OVER);
    cr_expect_eq(quota_view(&quota).remaining, 0);
    cr_expect_eq(quota_take(&quota, 1010, ten), QUOTA_ASK);
}

Test(quota, is_not_over_while_a_lease_lasts)
{
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_ASK);
    grant(2, 0, 15);
    grant(0, 0, 15);
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_TAKEN);
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_TAKEN);
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_OVER);
}

Test(quota, drops_a_lease_that_comes_after_its_window)
{
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_ASK);
    cr_expect_eq(quota_take(&quota, 1010, ten), QUOTA_ASK);
    quota_grant(&quota, 100, 5, (struct quota_limits){5, 20});
    cr_expect_eq(quota_take(&quota, 1010, ten), QUOTA_ASK);
}

Test(quota, starts_again_when_a_limit_changes)
{
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_ASK);
    grant(0, 0, 15);
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_OVER);
    cr_expect_eq(quota_take(&quota, 1000, many), QUOTA_ASK);
}

Test(quota, asks_ahead_only_for_leases_of_some_size)
{
    cr_expect_eq(quota_take(&quota, 1000, many), QUOTA_ASK);
    grant(100, 1500, 3900);
    cr_expect_not(quota_is_low(&quota));
    for (int i = 0; i < 76; i++)
        cr_expect_eq(quota_take(&quota, 1000, many), QUOTA_TAKEN);
    cr_expect(quota_is_low(&quota));
    grant(0, 0, 0);
    cr_expect_not(quota_is_low(&quota));

    quota = (struct quota){0};
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_ASK);
    grant(1, 9, 24);
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_TAKEN);
    cr_expect_not(quota_is_low(&quota));
}

Test(quota, counts_by_itself_while_access_is_out_of_reach)
{
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_ASK);
    grant(2, 8, 23);
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_TAKEN);
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_TAKEN);
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_ASK);
    quota_unreachable(&quota);
    for (uint32_t i = 3; i <= 10; i++) {
        cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_TAKEN);
        cr_expect_eq(quota_view(&quota).remaining, 10 - i);
    }
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_OVER);
    cr_expect_eq(quota_take(&quota, 1010, ten), QUOTA_ASK);
}

Test(quota, shows_the_tighter_of_the_two_limits)
{
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_ASK);
    grant(1, 9, 3);
    cr_expect_eq(quota_take(&quota, 1000, ten), QUOTA_TAKEN);
    cr_expect_eq(quota_view(&quota).limit, 25);
    cr_expect_eq(quota_view(&quota).remaining, 3);
}

Test(quota, has_as_many_refusals_as_requests_and_at_least_a_hundred_answers)
{
    static const struct {
        struct quota_limits limits, refusals;
    } cases[] = {
        {{1667, 4167}, {1667, 4167}}, {{50, 125}, {50, 125}}, {{49, 122}, {51, 128}},
        {{10, 25}, {90, 225}},        {{1, 2}, {99, 248}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct quota_limits refusals = quota_refusals(cases[i].limits);

        cr_expect_eq(refusals.key, cases[i].refusals.key, "case %zu: %u", i, refusals.key);
        cr_expect_eq(refusals.organization, cases[i].refusals.organization, "case %zu: %u", i,
                     refusals.organization);
    }
}

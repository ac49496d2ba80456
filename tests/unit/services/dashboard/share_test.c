#include "services/dashboard/door.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define SECOND 1000000

static const struct share_limit limit = {.per_second = 10, .burst = 25, .at_once = 4};
static struct shares *shares;

static void set_up(void)
{
    shares = shares_new(&limit, 12345);
}

static void tear_down(void)
{
    shares_free(shares);
}

TestSuite(share, .init = set_up, .fini = tear_down);

/* How many are let in one after the other. */
static unsigned enter_all(const char *whose, int64_t now_us, unsigned *wait_s)
{
    struct share *share;
    unsigned n = 0;

    while ((share = shares_enter(shares, str_of(whose), now_us, wait_s)) != NULL) {
        share_leave(share);
        n++;
    }
    return n;
}

#define ANN "ann-ann-ann-ann-ann"
#define BOB "bob-bob-bob-bob-bob"

Test(share, is_a_burst_and_then_so_many_a_second)
{
    unsigned wait_s;

    cr_expect_eq(enter_all(ANN, SECOND, &wait_s), 25);
    cr_expect_eq(wait_s, 1);
    cr_expect_eq(enter_all(BOB, SECOND, &wait_s), 25, "nobody pays for another");
    cr_expect_eq(enter_all(ANN, 2LL * SECOND, &wait_s), 10);
    cr_expect_eq(enter_all(ANN, 3600LL * SECOND, &wait_s), 25);
}

Test(share, is_not_used_up_by_a_time_that_is_past)
{
    unsigned wait_s;

    cr_expect_not_null(shares_enter(shares, STR(ANN), 4LL * SECOND, &wait_s));
    cr_expect_not_null(shares_enter(shares, STR(ANN), SECOND, &wait_s));
    cr_expect_eq(enter_all(ANN, 4LL * SECOND, &wait_s), 23, "nor has it grown since then");
}

Test(share, has_so_many_under_way)
{
    struct share *entered[4];
    unsigned wait_s;

    for (size_t i = 0; i < 4; i++)
        cr_assert_not_null(entered[i] = shares_enter(shares, STR(ANN), SECOND, &wait_s));
    cr_expect_null(shares_enter(shares, STR(ANN), SECOND, &wait_s));
    cr_expect_eq(wait_s, 1);
    share_leave(entered[0]);
    cr_expect_not_null(shares_enter(shares, STR(ANN), SECOND, &wait_s));
}

Test(share, in_use_is_not_forgotten_however_many_others_come)
{
    struct share *own[4];
    unsigned wait_s;

    for (size_t i = 0; i < 4; i++)
        cr_assert_not_null(own[i] = shares_enter(shares, STR(ANN), SECOND, &wait_s));
    for (int i = 0; i < 100000; i++) {
        char whose[32];
        struct str name = {whose, (size_t)snprintf(whose, sizeof(whose), "%-20d", i)};
        struct share *share = shares_enter(shares, name, SECOND + i, &wait_s);

        cr_assert_not_null(share);
        cr_assert_not(share->is_known, "a place is given away empty");
        share->is_known = true;
        share_leave(share);
    }
    cr_expect_null(shares_enter(shares, STR(ANN), SECOND, &wait_s));
    cr_expect_eq(own[0]->under_way, 4);
}

Test(share, is_not_there_for_more_than_there_are_places)
{
    unsigned wait_s, n = 0;

    for (int i = 0; i < 100000; i++) {
        char whose[32];
        struct str name = {whose, (size_t)snprintf(whose, sizeof(whose), "%-20d", i)};

        n += shares_enter(shares, name, SECOND, &wait_s) != NULL;
    }
    cr_expect_leq(n, 8192);
    cr_expect_gt(n, 7000);
}

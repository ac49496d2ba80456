/* Which organizations are slow, and what is left to the slow lane. */
#include "common/actor/slow_lane.h"

#include <criterion/criterion.h>

enum { MAX = 8, MAX_BYTES = 1000, SECOND_US = 1000000, LARGE = 1000000 / FAIR_UNIT_US / 20 };

static struct slow_lane *lane;
static int64_t now_us = 1000000000;
static char messages[64];

static void open_lane(void)
{
    lane = slow_lane_new(NULL, MAX, MAX_BYTES);
}

static void close_lane(void)
{
    slow_lane_free(lane);
}

TestSuite(slow_lane, .init = open_lane, .fini = close_lane);

static struct uuid organization(int number)
{
    return (struct uuid){{[14] = (uint8_t)(number >> 8), [15] = (uint8_t)number}};
}

static bool charge(int number, uint32_t cost)
{
    const struct uuid id = organization(number);

    return slow_lane_charge(lane, &id, cost, now_us);
}

static bool is_slow(int number)
{
    const struct uuid id = organization(number);

    return slow_lane_has(lane, &id, now_us);
}

/* -- slow organizations ---------------------------------------------------------------------- */

Test(slow_lane, takes_organizations_with_expensive_commands)
{
    cr_expect_not(is_slow(1));
    cr_expect(charge(1, LARGE));
    cr_expect(is_slow(1));
    cr_expect_not(is_slow(2));
    cr_expect_not(is_slow(0));
}

Test(slow_lane, takes_no_organization_for_any_number_of_cheap_commands)
{
    for (int i = 0; i < 10000; i++)
        cr_assert_not(charge(1, EXPENSIVE_COST - 1));
    cr_expect_not(is_slow(1));
}

Test(slow_lane, takes_no_organization_for_an_occasional_expensive_command)
{
    for (int i = 0; i < 1000; i++) {
        cr_assert_not(charge(1, EXPENSIVE_COST));
        now_us += SECOND_US / 20;
    }
    cr_expect_not(is_slow(1));
}

Test(slow_lane, takes_organizations_with_repeated_expensive_commands)
{
    int n = 1;

    while (n < 100 && !charge(1, EXPENSIVE_COST))
        n++;
    cr_expect_gt(n, 1);
    cr_expect_lt(n, 20);
    cr_expect(is_slow(1));
}

Test(slow_lane, releases_organizations_whose_commands_are_cheap_again)
{
    (void)charge(1, LARGE);
    now_us += SLOW_US - 1;
    cr_expect(is_slow(1));
    cr_expect_not(charge(1, 1));
    now_us += 1;
    cr_expect_not(is_slow(1));
    cr_expect_not(charge(1, EXPENSIVE_COST));
}

Test(slow_lane, keeps_organizations_that_continue)
{
    for (int i = 0; i < 100; i++) {
        cr_assert(charge(1, LARGE));
        now_us += SLOW_US / 10;
        cr_assert(is_slow(1));
    }
}

/* Whatever the commands have cost, it is forgotten after SLOW_US. */
Test(slow_lane, forgets_the_cost_of_a_command_without_bounds)
{
    (void)charge(1, UINT32_MAX);
    (void)charge(1, UINT32_MAX);
    now_us += SLOW_US;
    cr_expect_not(is_slow(1));
    cr_expect_not(charge(1, EXPENSIVE_COST));
}

Test(slow_lane, distinguishes_hundreds_of_organizations)
{
    for (int i = 0; i < 400; i++)
        cr_assert_eq(charge(i, i % 2 ? LARGE : EXPENSIVE_COST), i % 2 == 1);
    for (int i = 0; i < 400; i++)
        cr_assert_eq(is_slow(i), i % 2 == 1, "%d", i);
}

Test(slow_lane, has_room_for_the_latest_of_any_number_of_organizations)
{
    for (int i = 0; i < 20000; i++) {
        cr_assert(charge(i, LARGE));
        cr_assert(is_slow(i));
        now_us++;
    }
}

/* -- commands for the lane ------------------------------------------------------------------- */

static bool put(int number, size_t bytes)
{
    const struct uuid id = organization(number);
    const struct waiting waiting = {.message = (struct bus_message *)&messages[number],
                                    .bytes = bytes};

    return slow_lane_put(lane, &id, &waiting);
}

/* -1: the lane is empty. */
static int take(void)
{
    struct waiting waiting;
    struct uuid id, expected;
    int number;

    if (!slow_lane_take(lane, &id, &waiting))
        return -1;
    number = (int)((const char *)waiting.message - messages);
    expected = organization(number);
    cr_assert(uuid_equal(&id, &expected));
    return number;
}

Test(slow_lane, returns_items_in_order)
{
    cr_expect_eq(take(), -1);
    for (int i = 0; i + 2 < 60; i += 3) {
        cr_assert(put(i, 1) && put(i + 1, 1) && put(i + 2, 1));
        for (int j = 0; j < 3; j++)
            cr_assert_eq(take(), i + j);
        cr_assert_eq(take(), -1);
    }
}

Test(slow_lane, has_room_for_so_many)
{
    for (int i = 0; i < MAX; i++)
        cr_assert(put(i, 1));
    cr_expect_not(put(MAX, 1));
    cr_expect_eq(take(), 0);
    cr_expect(put(MAX, 1));
    for (int i = 1; i <= MAX; i++)
        cr_assert_eq(take(), i);
}

Test(slow_lane, has_room_for_so_many_bytes)
{
    cr_expect(put(0, MAX_BYTES - 1));
    cr_expect_not(put(1, 2));
    cr_expect(put(1, 1));
    cr_expect_eq(take(), 0);
    cr_expect(put(2, MAX_BYTES - 1));
    cr_expect_eq(take(), 1);
    cr_expect_eq(take(), 2);
}

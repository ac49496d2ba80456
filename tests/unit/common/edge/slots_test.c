#include "common/edge/slots.h"

#include <criterion/criterion.h>

static struct slots slots;

static void set_up(void)
{
    slots_init(&slots, 3);
}

static void tear_down(void)
{
    slots_release(&slots);
}

TestSuite(slots, .init = set_up, .fini = tear_down);

Test(slots, give_each_token_a_place_of_its_own)
{
    uint64_t a, b, c, d;

    cr_assert(slots_take(&slots, &a) && slots_take(&slots, &b) && slots_take(&slots, &c));
    cr_expect_neq(slots_place(a), slots_place(b));
    cr_expect_neq(slots_place(b), slots_place(c));
    cr_expect_neq(slots_place(a), slots_place(c));
    cr_expect_not(slots_take(&slots, &d));
}

Test(slots, do_not_know_a_token_that_was_given_back)
{
    uint64_t first, second;

    cr_assert(slots_take(&slots, &first));
    cr_expect(slots_give_back(&slots, first));
    cr_expect_not(slots_give_back(&slots, first));
    cr_assert(slots_take(&slots, &second));
    cr_expect_eq(slots_place(first), slots_place(second));
    cr_expect_neq(first, second);
    cr_expect_not(slots_give_back(&slots, first));
    cr_expect(slots_give_back(&slots, second));
}

Test(slots, do_not_know_what_they_never_gave_out)
{
    cr_expect_not(slots_give_back(&slots, 0));
    cr_expect_not(slots_give_back(&slots, 2));
    cr_expect_not(slots_give_back(&slots, 3));
    cr_expect_not(slots_give_back(&slots, UINT64_MAX));
}

Test(slots, list_what_is_in_use)
{
    uint64_t a, b, listed[3] = {0};

    cr_assert(slots_take(&slots, &a) && slots_take(&slots, &b));
    cr_expect(slots_give_back(&slots, a));
    cr_assert_eq(slots.used, 1);
    slots_list(&slots, listed);
    cr_expect_eq(listed[0], b);
}

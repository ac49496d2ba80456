#include "common/edge/held.h"

#include <criterion/criterion.h>

#define MOST (4 * HELD_LEAST)

static struct held held;
static struct held_answer answers[5];

static void start(void)
{
    held_init(&held, MOST);
}

TestSuite(held, .init = start);

Test(held, gives_up_nobody_while_there_is_room)
{
    for (int i = 0; i < 4; i++)
        held_add(&held, &answers[i], HELD_LEAST);
    cr_expect_null(held_excess(&held));
}

Test(held, gives_up_who_has_waited_longest)
{
    for (int i = 0; i < 5; i++)
        held_add(&held, &answers[i], HELD_LEAST);
    cr_expect_eq(held_excess(&held), &answers[0]);
    cr_expect_null(held_excess(&held));
    held_drop(&held, &answers[0]);
    cr_expect_eq(held.n, MOST);
}

Test(held, gives_up_as_many_as_a_large_one_needs)
{
    for (int i = 0; i < 4; i++)
        held_add(&held, &answers[i], HELD_LEAST);
    held_drop(&held, &answers[1]);
    held_add(&held, &answers[4], 3 * HELD_LEAST);
    cr_expect_eq(held_excess(&held), &answers[0]);
    cr_expect_eq(held_excess(&held), &answers[2]);
    cr_expect_null(held_excess(&held));
}

Test(held, does_not_count_what_a_socket_takes_at_once)
{
    for (int i = 0; i < 5; i++)
        held_add(&held, &answers[i], HELD_LEAST - 1);
    held_drop(&held, &answers[0]);
    cr_expect_eq(held.n, 0);
    cr_expect_null(held_excess(&held));
}

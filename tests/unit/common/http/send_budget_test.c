#include "common/http/send_budget.h"

#include <criterion/criterion.h>

#define MAX (4 * SEND_BUDGET_SMALLEST)

static struct send_budget send_budget;
static struct send_budget_entry answers[5];

static void start(void)
{
    send_budget_init(&send_budget, MAX);
}

TestSuite(send_budget, .init = start);

Test(send_budget, gives_up_none_within_the_budget)
{
    for (int i = 0; i < 4; i++)
        send_budget_add(&send_budget, &answers[i], SEND_BUDGET_SMALLEST);
    cr_expect_null(send_budget_excess(&send_budget));
}

Test(send_budget, drops_the_client_that_has_waited_longest)
{
    for (int i = 0; i < 5; i++)
        send_budget_add(&send_budget, &answers[i], SEND_BUDGET_SMALLEST);
    cr_expect_eq(send_budget_excess(&send_budget), &answers[0]);
    cr_expect_null(send_budget_excess(&send_budget));
    send_budget_remove(&send_budget, &answers[0]);
    cr_expect_eq(send_budget.n, MAX);
}

Test(send_budget, gives_up_as_many_as_a_large_one_needs)
{
    for (int i = 0; i < 4; i++)
        send_budget_add(&send_budget, &answers[i], SEND_BUDGET_SMALLEST);
    send_budget_remove(&send_budget, &answers[1]);
    send_budget_add(&send_budget, &answers[4], 3 * SEND_BUDGET_SMALLEST);
    cr_expect_eq(send_budget_excess(&send_budget), &answers[0]);
    cr_expect_eq(send_budget_excess(&send_budget), &answers[2]);
    cr_expect_null(send_budget_excess(&send_budget));
}

Test(send_budget, does_not_count_bytes_that_a_socket_takes_at_once)
{
    for (int i = 0; i < 5; i++)
        send_budget_add(&send_budget, &answers[i], SEND_BUDGET_SMALLEST - 1);
    send_budget_remove(&send_budget, &answers[0]);
    cr_expect_eq(send_budget.n, 0);
    cr_expect_null(send_budget_excess(&send_budget));
}

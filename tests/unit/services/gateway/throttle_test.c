#include "services/gateway/throttle.h"

#include <criterion/criterion.h>

#define SECOND 1000000

static struct throttle *throttle;

static struct address number(uint32_t n)
{
    struct address address = {{0}};

    for (int i = 0; i < 4; i++)
        address.b[12 + i] = (uint8_t)(n >> (24 - 8 * i));
    return address;
}

static void set_up(void)
{
    throttle = throttle_new(3, 12345);
}

static void tear_down(void)
{
    throttle_free(throttle);
}

TestSuite(throttle, .init = set_up, .fini = tear_down);

Test(throttle, hears_an_address_until_it_failed_too_often)
{
    struct address a = number(1), b = number(2);

    cr_expect_not(throttle_note(throttle, &a, 0));
    cr_expect_not(throttle_note(throttle, &a, 0));
    cr_expect_eq(throttle_wait(throttle, &a, 0), 0);
    cr_expect(throttle_note(throttle, &a, 0));
    cr_expect_eq(throttle_wait(throttle, &a, 0), 60);
    cr_expect_eq(throttle_wait(throttle, &b, 0), 0);
}

Test(throttle, says_so_once)
{
    struct address a = number(1);

    for (int i = 0; i < 3; i++)
        (void)throttle_note(throttle, &a, 0);
    cr_expect_not(throttle_note(throttle, &a, 0));
}

Test(throttle, waits_until_the_minute_ends_and_at_least_a_second)
{
    struct address a = number(1);

    for (int i = 0; i < 3; i++)
        (void)throttle_note(throttle, &a, 59 * SECOND);
    cr_expect_eq(throttle_wait(throttle, &a, 59 * SECOND), 1);
    cr_expect_eq(throttle_wait(throttle, &a, 60 * SECOND - 1), 1);
    cr_expect_eq(throttle_wait(throttle, &a, 60 * SECOND), 0);
    cr_expect_not(throttle_note(throttle, &a, 60 * SECOND));
}

Test(throttle, keeps_the_worst_when_there_are_too_many)
{
    struct address worst = number(0xffffffff);

    for (int i = 0; i < 3; i++)
        (void)throttle_note(throttle, &worst, 0);
    for (uint32_t i = 0; i < 200000; i++) {
        struct address other = number(i);
        (void)throttle_note(throttle, &other, 0);
    }
    cr_expect_gt(throttle_wait(throttle, &worst, 0), 0);
}

Test(throttle, suspects_an_address_from_its_first_failure_until_the_minute_ends)
{
    struct address a = number(1), b = number(2);

    cr_expect_not(throttle_suspects(throttle, &a, 0));
    throttle_note(throttle, &a, 0);
    cr_expect(throttle_suspects(throttle, &a, 59 * SECOND));
    cr_expect_not(throttle_suspects(throttle, &b, 0));
    cr_expect_not(throttle_suspects(throttle, &a, 60 * SECOND));
}

#include <criterion/criterion.h>

#include "common/http/throttle.h"

#define SECOND 1000000

static struct throttle *throttle;

/* A different network for each `n`. */
static struct address number(uint32_t n)
{
    struct address address = {{0}};

    for (int i = 0; i < 4; i++)
        address.b[i] = (uint8_t)(n >> (24 - 8 * i));
    return address;
}

static struct address named(const char *text)
{
    struct address address = {{0}};

    cr_assert(address_parse(str_of(text), &address));
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

Test(throttle, counts_an_ipv6_network_as_one_address)
{
    for (int i = 0; i < 3; i++) {
        struct address a = named("2001:db8:1:2::");

        a.b[15] = (uint8_t)i;
        a.b[8] = (uint8_t)i;
        throttle_note(throttle, &a, 0);
    }
    struct address same = named("2001:db8:1:2:ffff::9"), other = named("2001:db8:1:3::");

    cr_expect_gt(throttle_wait(throttle, &same, 0), 0);
    cr_expect_eq(throttle_wait(throttle, &other, 0), 0);
}

static void fail_from_many(const char *first, int place, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct address a = named(first);

        a.b[place] = (uint8_t)i;
        throttle_note(throttle, &a, 0);
    }
}

Test(throttle, counts_a_wider_network_with_a_higher_bound)
{
    static const struct {
        const char *first, *same, *other;
        int place;
    } cases[] = {
        {"2001:db8:1::", "2001:db8:1:ffff::1", "2001:db8:2::1", 7},
        {"192.0.2.0", "192.0.2.255", "192.0.3.1", 15},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct address same = named(cases[i].same), other = named(cases[i].other);

        fail_from_many(cases[i].first, cases[i].place, 3 * THROTTLE_WIDER - 1);
        cr_expect_eq(throttle_wait(throttle, &same, 0), 0);
        cr_expect(throttle_note(throttle, &same, 0), "the one that fills it");
        cr_expect_eq(throttle_wait(throttle, &same, 0), 60);
        cr_expect_eq(throttle_wait(throttle, &other, 0), 0);
    }
}

Test(throttle, suspects_a_whole_network_after_a_few_failures)
{
    struct address same = named("2001:db8:1:ffff::1"), other = named("2001:db8:2::1");

    fail_from_many("2001:db8:1::", 7, THROTTLE_WIDER - 1);
    cr_expect_not(throttle_suspects(throttle, &same, 0));
    fail_from_many("2001:db8:1::", 7, 1);
    cr_expect(throttle_suspects(throttle, &same, 0));
    cr_expect_not(throttle_suspects(throttle, &other, 0));
}

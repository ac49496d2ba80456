#include "services/gateway/familiar.h"

#include <criterion/criterion.h>

#include "common/base/ip.h"
#include "common/base/recent_table.h"

#define HOUR_US (3600LL * 1000000)

static struct recent_table *familiar;

static struct address named(const char *text)
{
    struct address address = {{0}};

    cr_assert(address_parse(str_of(text), &address));
    return address;
}

static void familiar_set_up(void)
{
    familiar = familiar_new(12345);
}

static void familiar_tear_down(void)
{
    recent_table_free(familiar);
}

TestSuite(familiar, .init = familiar_set_up, .fini = familiar_tear_down);

Test(familiar, knows_the_network_of_a_good_key_for_an_hour)
{
    struct address a = named("192.0.2.1"), b = named("192.0.2.200"), c = named("192.0.3.1");

    cr_expect_not(familiar_holds(familiar, &a, HOUR_US));
    familiar_note(familiar, &a, HOUR_US);
    cr_expect(familiar_holds(familiar, &b, HOUR_US));
    cr_expect_not(familiar_holds(familiar, &c, HOUR_US));
    cr_expect(familiar_holds(familiar, &b, 2 * HOUR_US - 1));
    cr_expect_not(familiar_holds(familiar, &b, 2 * HOUR_US));
}

Test(familiar, takes_an_ipv6_network_of_48_bits_as_one)
{
    struct address a = named("2001:db8:1:2::3"), b = named("2001:db8:1:ffff::"),
                   c = named("2001:db8:2::");

    familiar_note(familiar, &a, HOUR_US);
    cr_expect(familiar_holds(familiar, &b, HOUR_US));
    cr_expect_not(familiar_holds(familiar, &c, HOUR_US));
}

Test(familiar, keeps_the_networks_that_return_when_there_are_too_many)
{
    struct address regular = named("2001:db8::1");
    int64_t now_us = HOUR_US;

    for (uint32_t i = 0; i < 100000; i++) {
        struct address other = named("2001::1");

        other.b[3] = (uint8_t)i;
        other.b[4] = (uint8_t)(i >> 8);
        other.b[5] = (uint8_t)(i >> 16);
        other.b[2] = 0xff;
        familiar_note(familiar, &other, now_us++);
        familiar_note(familiar, &regular, now_us++);
    }
    cr_expect(familiar_holds(familiar, &regular, now_us));
}

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/ip.h"

static void expect(const char *text, const char *canonical)
{
    struct address address;
    char out[ADDRESS_TEXT];

    cr_assert(address_parse(str_of(text), &address), "%s", text);
    address_format(&address, out);
    cr_expect_str_eq(out, canonical, "%s became %s", text, out);
}

Test(address, keeps_a_dotted_ipv4_address)
{
    expect("0.0.0.0", "0.0.0.0");
    expect("203.0.113.7", "203.0.113.7");
    expect("255.255.255.255", "255.255.255.255");
}

Test(address, writes_ipv6_in_its_canonical_form)
{
    expect("2001:0DB8:0:0:0:0:0:1", "2001:db8::1");
    expect("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1");
    expect("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1");
    expect("0:0:0:0:0:0:0:0", "::");
    expect("::1", "::1");
}

Test(address, folds_ipv4_mapped_addresses_into_ipv4)
{
    expect("::ffff:203.0.113.7", "203.0.113.7");
    expect("::FFFF:cb00:7107", "203.0.113.7");
    expect("0:0:0:0:0:ffff:203.0.113.7", "203.0.113.7");
}

Test(address, distinguishes_adjacent_addresses)
{
    struct address a, b, c;

    cr_assert(address_parse(STR("10.0.0.1"), &a));
    cr_assert(address_parse(STR("::ffff:a00:1"), &b));
    cr_assert(address_parse(STR("10.0.0.2"), &c));
    cr_assert(address_equal(&a, &b));
    cr_assert_not(address_equal(&a, &c));
}

Test(address, refuses_what_is_not_one_exact_address)
{
    static const char *const wrong[] = {
        "",
        " ",
        "10.0.0.0/8",
        "::/0",
        "fe80::1%eth0",
        "[::1]",
        "10.0.0.1 ",
        " 10.0.0.1",
        "10.0.0",
        "10.1",
        "167772161",
        "0x0a.0.0.1",
        "10.0.0.01",
        "010.0.0.1",
        "10.0.0.256",
        "10.0.0.1.",
        "10.0.0.1:80",
        "1::2::3",
        "1:2:3:4:5",
        "12345::",
        "::g",
        "localhost",
        "10.0.0.-1",
        "+10.0.0.1",
        ":::",
        "::1.2.3.04",
        "1:2:3:4:5:6:7:8:9",
    };

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct address address;

        memset(&address, 7, sizeof(address));
        cr_expect_not(address_parse(str_of(wrong[i]), &address), "'%s'", wrong[i]);
        cr_expect_eq(address.b[0], 7, "'%s' touched the result", wrong[i]);
    }
}

Test(address, refuses_bytes_after_a_nul_and_an_empty_text)
{
    struct address address;

    cr_assert_not(address_parse(STR("10.0.0.1\0x"), &address));
    cr_assert_not(address_parse(STR_NONE, &address));
}

Test(address, refuses_a_text_longer_than_any_address)
{
    char text[5000];
    struct address address;

    memset(text, '1', sizeof(text));
    cr_assert_not(address_parse((struct str){text, sizeof(text)}, &address));
}

static bool holds(const char *list, const char *text)
{
    struct networks networks;
    struct address address;

    cr_assert(networks_parse(str_of(list), &networks, NULL), "%s", list);
    cr_assert(address_parse(str_of(text), &address), "%s", text);
    return networks_hold(&networks, &address);
}

Test(network, contains_addresses_that_share_its_prefix)
{
    cr_expect(holds("10.0.0.0/8", "10.255.0.1"));
    cr_expect_not(holds("10.0.0.0/8", "11.0.0.1"));
    cr_expect(holds("172.16.0.0/12", "172.31.255.255"));
    cr_expect_not(holds("172.16.0.0/12", "172.32.0.0"));
    cr_expect(holds("1.2.3.4", "1.2.3.4"));
    cr_expect_not(holds("1.2.3.4", "1.2.3.5"));
    cr_expect(holds("0.0.0.0/0", "255.1.1.1"));
    cr_expect_not(holds("0.0.0.0/0", "2001:db8::1"));
    cr_expect(holds("::/0", "255.1.1.1"));
    cr_expect(holds("2001:db8::/33", "2001:db8:7fff::1"));
    cr_expect_not(holds("2001:db8::/33", "2001:db8:8000::1"));
}

Test(network, knows_an_ipv4_address_in_its_ipv6_form)
{
    cr_expect(holds("10.0.0.0/8", "::ffff:10.1.1.1"));
    cr_expect(holds("::ffff:10.0.0.0/104", "10.1.1.1"));
}

Test(network, lists_may_be_empty_and_hold_nothing_then)
{
    cr_expect_not(holds("", "10.1.1.1"));
    cr_expect_not(holds(" ", "10.1.1.1"));
    cr_expect(holds(" 1.1.1.1 , 10.0.0.0/8", "10.1.1.1"));
}

Test(network, refuses_what_is_not_a_list_of_networks)
{
    static const char *const bad[] = {
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/",
        "10.0.0/8",
        "::1/129",
        "a",
        "1.1.1.1 2.2.2.2",
        "1.1.1.1/8/8",
        ",1.1.1.1",
        "[::1]",
        ",",
        "10.0.0.0/8,",
        "10.0.0.1/8",
        "fd00::1/8",
        "10.0.0.0/8 x",
        "10.0.0.0/+8",
        "name/8",
        "10.0.0.0/8;11.0.0.0/8",
        "10.0.0.0//8",
        "10.0.0.0/0008",
        "1.1.1.1,,2.2.2.2",
    };
    struct networks networks;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_expect_not(networks_parse(str_of(bad[i]), &networks, NULL), "%s", bad[i]);
}

static void expect_wrong(const char *list, const char *part)
{
    struct networks networks;
    struct str wrong;

    cr_assert_not(networks_parse(str_of(list), &networks, &wrong), "%s", list);
    cr_expect(str_equal(wrong, str_of(part)), "%s: %.*s", list, STR_ARG(wrong));
}

Test(network, that_is_none_is_named)
{
    char text[NETWORKS_WRONG_MAX + 3] = "", too_many[NETWORKS_MAX * 8 + 16] = "";

    expect_wrong("10.0.0.0/8, 11.0.0.0/33 ,12.0.0.0/8", "11.0.0.0/33");
    expect_wrong("10.0.0.0/8,,11.0.0.0/8", "");
    memset(text, 'x', sizeof(text) - 1);
    expect_wrong(text, text + 2);
    for (int i = 0; i < NETWORKS_MAX; i++)
        strcat(too_many, "1.1.1.1,");
    expect_wrong(strcat(too_many, "2.2.2.2"), "2.2.2.2");
}

Test(network, reads_the_address_of_a_socket)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    struct address found, wanted;

    cr_assert(inet_pton(AF_INET, "1.2.3.4", &v4.sin_addr) == 1);
    cr_assert(inet_pton(AF_INET6, "2001:db8::7", &v6.sin6_addr) == 1);
    found = address_of((const struct sockaddr *)&v4);
    cr_assert(address_parse(STR("1.2.3.4"), &wanted));
    cr_expect(address_equal(&found, &wanted));
    found = address_of((const struct sockaddr *)&v6);
    cr_assert(address_parse(STR("2001:db8::7"), &wanted));
    cr_expect(address_equal(&found, &wanted));
}

Test(network, around_an_address_leaves_its_last_bits_out)
{
    static const struct {
        const char *address, *near, *wide;
    } cases[] = {
        {"192.0.2.77", "192.0.2.77/32", "192.0.2.0/24"},
        {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"},
        {"::1", "::/64", "::/48"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct network near, wide, expected;
        struct address address;
        char text[NETWORK_TEXT];

        cr_assert(address_parse(str_of(cases[i].address), &address));
        near = network_near(&address);
        wide = network_wide(&address);
        cr_assert(network_parse(str_of(cases[i].near), &expected));
        cr_expect(network_equal(&near, &expected), "%s", cases[i].near);
        cr_assert(network_parse(str_of(cases[i].wide), &expected));
        cr_expect(network_equal(&wide, &expected), "%s", cases[i].wide);
        cr_expect_not(network_equal(&wide, &near));
        network_format(&wide, text);
        cr_expect_str_eq(text, cases[i].wide);
    }
}

Test(network, around_an_address_cuts_within_a_byte)
{
    struct address address;
    struct network around, expected;

    cr_assert(address_parse(STR("2001:db8:1:ffff::1"), &address));
    around = network_around(&address, 32, 52);
    cr_assert(network_parse(STR("2001:db8:1:f000::/52"), &expected));
    cr_expect(network_equal(&around, &expected));
}

Test(network, that_is_another_has_another_key)
{
    static const char *const addresses[] = {
        "192.0.2.0",      "192.0.2.1",    "192.0.3.0", "2001:db8:1::",
        "2001:db8:1:1::", "2001:db8:2::", "::"};
    struct network networks[2 * ARRAY_SIZE(addresses)];
    uint8_t keys[ARRAY_SIZE(networks)][16];

    for (size_t i = 0; i < ARRAY_SIZE(networks); i++) {
        struct address address;

        cr_assert(address_parse(str_of(addresses[i / 2]), &address));
        networks[i] = i % 2 == 0 ? network_near(&address) : network_wide(&address);
        network_key(&networks[i], keys[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(networks); i++)
        for (size_t k = 0; k < i; k++)
            cr_expect_eq(memcmp(keys[i], keys[k], sizeof(keys[i])) == 0,
                         network_equal(&networks[i], &networks[k]), "%zu, %zu", i, k);
}

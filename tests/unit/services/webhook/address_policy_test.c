#include "services/webhook/address_policy.h"

#include <criterion/criterion.h>

static struct address address(const char *text)
{
    struct address out;

    cr_assert(address_parse(str_of(text), &out), "%s", text);
    return out;
}

static struct networks networks(const char *text)
{
    struct networks out;

    cr_assert(networks_parse(str_of(text), &out, NULL), "%s", text);
    return out;
}

static bool allows(const struct address_policy *policy, const char *text)
{
    const struct address one = address(text);

    return address_policy_allows(policy, &one);
}

Test(address_policy, allows_public_addresses_and_those_that_the_operator_allows)
{
    const struct address_rules rules = {.allowed = networks("10.1.0.0/16, fd12::/16,192.168.1.7")};
    const struct address_policy policy = {.rules = &rules};

    cr_expect(allows(&policy, "10.1.0.0"));
    cr_expect(allows(&policy, "10.1.255.255"));
    cr_expect(!allows(&policy, "10.2.0.0"));
    cr_expect(!allows(&policy, "10.0.255.255"));
    cr_expect(allows(&policy, "192.168.1.7"));
    cr_expect(!allows(&policy, "192.168.1.8"));
    cr_expect(allows(&policy, "fd12::1"));
    cr_expect(!allows(&policy, "fd13::1"));
    cr_expect(allows(&policy, "8.8.8.8"));
    cr_expect(allows(&policy, "2a00:1450:4001::1"));
}

Test(address_policy, never_allows_metadata_not_even_inside_other_addresses)
{
    static const char *const never[] = {
        "169.254.169.254",
        "169.254.170.2",
        "169.254.0.1",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fe80::1",
        "::ffff:169.254.169.254",
        "::169.254.169.254",
        "::ffff:0:169.254.169.254",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::169.254.169.254",
        "2002:a9fe:a9fe::1",
        "2001:0:1:2:3:4:5601:5601", /* Teredo holds it inverted */
    };
    const struct address_rules rules = {.allowed = networks("0.0.0.0/0,::/0")};
    const struct address_policy policy = {.rules = &rules};

    for (size_t i = 0; i < ARRAY_SIZE(never); i++)
        cr_expect(!allows(&policy, never[i]), "%s", never[i]);
    cr_expect(allows(&policy, "10.0.0.1"));
    cr_expect(allows(&policy, "64:ff9b::10.0.0.1"));
}

Test(address_policy, denies_more_than_the_operator_allows_also_inside_other_addresses)
{
    const struct address_rules rules = {.allowed = networks("0.0.0.0/0,::/0"),
                                        .denied = networks("8.8.8.0/24,2a00:1450::/32")};
    const struct address_policy policy = {.rules = &rules};

    cr_expect(!allows(&policy, "8.8.8.8"));
    cr_expect(allows(&policy, "8.8.9.8"));
    cr_expect(!allows(&policy, "2a00:1450:4001::1"));
    cr_expect(allows(&policy, "2a00:1451::1"));
    cr_expect(!allows(&policy, "::ffff:8.8.8.8"));
    cr_expect(!allows(&policy, "64:ff9b::8.8.8.8"));
    cr_expect(!allows(&policy, "2002:808:808::1"));
}

/* Examples of RFC 6052, with a public prefix and another address. */
Test(address_policy, judges_what_is_translated_by_the_address_inside)
{
    static const struct {
        const char *prefix, *of_8_8_8_8, *of_10_0_0_33;
    } cases[] = {
        {"2a00::/32", "2a00:0:808:808::", "2a00:0:a00:21::"},
        {"2a00:0:100::/40", "2a00:0:108:808:8::", "2a00:0:10a:0:21::"},
        {"2a00:0:122::/48", "2a00:0:122:808:8:800::", "2a00:0:122:a00:0:2100::"},
        {"2a00:0:122:300::/56", "2a00:0:122:308:8:808::", "2a00:0:122:30a:0:21::"},
        {"2a00:0:122:344::/64", "2a00:0:122:344:8:808:800::", "2a00:0:122:344:a:0:2100::"},
        {"2a00:0:122:344::/96", "2a00:0:122:344::8.8.8.8", "2a00:0:122:344::10.0.0.33"},
        {"64:ff9b::/96", "64:ff9b::8.8.8.8", "64:ff9b::10.0.0.33"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct address_rules rules = {.nat64 = networks(cases[i].prefix)};
        const struct address_policy policy = {.rules = &rules};

        cr_expect(address_rules_are_sound(&rules), "%s", cases[i].prefix);
        cr_expect(allows(&policy, cases[i].of_8_8_8_8), "%s", cases[i].of_8_8_8_8);
        cr_expect(!allows(&policy, cases[i].of_10_0_0_33), "%s", cases[i].of_10_0_0_33);
        rules.denied = networks("8.8.8.8");
        cr_expect(!allows(&policy, cases[i].of_8_8_8_8), "%s", cases[i].of_8_8_8_8);
        rules.denied = networks(cases[i].prefix);
        cr_expect(!allows(&policy, cases[i].of_8_8_8_8), "%s", cases[i].of_8_8_8_8);
    }
}

Test(address_policy, takes_prefixes_that_rfc_6052_has)
{
    static const char *const bad[] = {"2a00::/24",  "2a00::/36",  "2a00::/72", "2a00::/95",
                                      "2a00::/128", "10.0.0.0/8", "10.0.0.1"};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        const struct address_rules rules = {.nat64 = networks(bad[i])};

        cr_expect(!address_rules_are_sound(&rules), "%s", bad[i]);
    }
}

Test(address_policy, refuses_the_machines_own_addresses)
{
    const struct address_rules none = {0};
    struct address_policy policy = {.rules = &none};
    struct address own = address("8.8.8.8"), loopback = address("127.0.0.1");
    bool has_loopback = false;

    address_policy_refresh(&policy);
    cr_assert_gt(policy.n_own, 0);
    for (size_t i = 0; i < policy.n_own; i++)
        has_loopback |= address_equal(&policy.own[i], &loopback);
    cr_assert(has_loopback);

    cr_assert(address_policy_allows(&policy, &own));
    policy.own[0] = own;
    cr_assert_not(address_policy_allows(&policy, &own));
}

Test(address_policy, knows_the_edges_of_special_ranges)
{
    static const struct {
        const char *inside, *outside;
    } cases[] = {
        {"0.255.255.255", "1.0.0.0"},
        {"10.255.255.255", "11.0.0.0"},
        {"100.64.0.0", "100.63.255.255"},
        {"100.127.255.255", "100.128.0.0"},
        {"127.0.0.0", "126.255.255.255"},
        {"127.255.255.255", "128.0.0.0"},
        {"172.16.0.0", "172.15.255.255"},
        {"172.31.255.255", "172.32.0.0"},
        {"192.0.0.255", "192.0.1.0"},
        {"192.0.2.0", "192.0.1.255"},
        {"192.0.2.255", "192.0.3.0"},
        {"192.31.196.1", "192.31.197.0"},
        {"192.52.193.1", "192.52.192.255"},
        {"192.88.99.255", "192.88.100.0"},
        {"192.168.0.0", "192.167.255.255"},
        {"192.175.48.1", "192.175.49.0"},
        {"198.18.0.0", "198.17.255.255"},
        {"198.19.255.255", "198.20.0.0"},
        {"198.51.100.0", "198.51.99.255"},
        {"203.0.113.255", "203.0.114.0"},
        {"224.0.0.0", "223.255.255.255"},
        {"2001:1ff:ffff::1", "2001:200::1"},
        {"2001:db8:ffff::", "2001:db9::"},
        {"2002:ffff::1", "2003::1"},
        {"3fff:fff::1", "3fff:1000::1"},
        {"1fff::1", "2000::1"},
        {"4000::1", "3ffe::1"},
        {"2620:4f:8000::1", "2620:4f:8001::1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct address inside = address(cases[i].inside), outside = address(cases[i].outside);

        cr_expect(!address_is_public(&inside), "%s", cases[i].inside);
        cr_expect(address_is_public(&outside), "%s", cases[i].outside);
    }
}

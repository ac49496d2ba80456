#include "common/http/client_address.h"

#include <criterion/criterion.h>

static struct networks trusted;

static struct address at(const char *text)
{
    struct address address = {{0}};

    cr_assert(address_parse(str_of(text), &address), "%s", text);
    return address;
}

static void trust_private(void)
{
    cr_assert(networks_parse(STR("10.0.0.0/8, 192.168.1.1 ,fd00::/8"), &trusted, NULL));
}

static void expect(const char *peer, const char *forwarded_for, const char *client)
{
    struct address from = at(peer), found, wanted = at(client);
    struct str line = str_of(forwarded_for);
    char text[ADDRESS_TEXT];

    found = client_address(&from, &trusted, &line, 1);
    address_format(&found, text);
    cr_expect(address_equal(&found, &wanted), "%s behind %s is %s", peer, forwarded_for, text);
}

TestSuite(client, .init = trust_private);

Test(client, is_the_peer_when_that_is_not_trusted)
{
    expect("1.2.3.4", "5.6.7.8", "1.2.3.4");
    expect("192.168.1.2", "5.6.7.8", "192.168.1.2");
}

Test(client, is_whom_the_last_trusted_hop_saw)
{
    expect("10.0.0.1", "5.6.7.8", "5.6.7.8");
    expect("10.0.0.1", "6.6.6.6, 5.6.7.8", "5.6.7.8");
    expect("10.0.0.1", "6.6.6.6, 5.6.7.8, 10.9.9.9", "5.6.7.8");
    expect("10.0.0.1", "10.1.1.1,10.2.2.2", "10.1.1.1");
    expect("fd00::1", "2001:db8::7", "2001:db8::7");
    expect("::ffff:10.0.0.1", "5.6.7.8", "5.6.7.8");
}

Test(client, may_come_with_brackets_and_port)
{
    expect("10.0.0.1", "5.6.7.8:1234", "5.6.7.8");
    expect("10.0.0.1", "[2001:db8::7]:443", "2001:db8::7");
    expect("10.0.0.1", "[2001:db8::7]", "2001:db8::7");
    expect("10.0.0.1", "  5.6.7.8\t", "5.6.7.8");
}

Test(client, is_the_trusted_hop_if_that_sends_no_valid_address)
{
    static const char *const garbage[] = {
        "",
        "unknown",
        "5.6.7.8:99999",
        "5.6.7.8:",
        "[2001:db8::7",
        "[5.6.7.8]",
        "[::1]x",
        "5.6.7",
        "5.6.7.8/32",
        "fe80::1%eth0",
        "01.2.3.4",
        "6.6.6.6, bogus",
        "6.6.6.6,",
        "2001:db8::7:8:9:a:b:c:d",
    };

    for (size_t i = 0; i < ARRAY_SIZE(garbage); i++)
        expect("10.0.0.1", garbage[i], "10.0.0.1");
}

Test(client, is_sought_from_the_last_line_to_the_first)
{
    const struct str lines[] = {STR("6.6.6.6, 5.6.7.8"), STR("10.3.3.3"), STR("10.2.2.2")};
    struct address peer = at("10.0.0.1"), wanted = at("5.6.7.8");
    struct address found = client_address(&peer, &trusted, lines, 3);

    cr_expect(address_equal(&found, &wanted));
}

Test(client, is_not_sought_for_ever)
{
    char line[4000] = "5.6.7.8";
    struct str all;
    struct address peer = at("10.0.0.1"), wanted = at("10.2.2.2"), found;

    for (int i = 0; i < CLIENT_HOPS_MAX; i++)
        strcat(line, ", 10.2.2.2");
    all = str_of(line);
    found = client_address(&peer, &trusted, &all, 1);
    cr_expect(address_equal(&found, &wanted));
}

Test(client, came_by_https_when_we_or_a_trusted_proxy_say_so)
{
    struct address proxy = at("10.0.0.1"), stranger = at("1.2.3.4");

    cr_expect(client_is_https(true, &stranger, &trusted, STR_NONE));
    cr_expect(client_is_https(false, &proxy, &trusted, STR("https")));
    cr_expect(client_is_https(false, &proxy, &trusted, STR("http, HTTPS ")));
    cr_expect_not(client_is_https(false, &proxy, &trusted, STR("https, http")));
    cr_expect_not(client_is_https(false, &proxy, &trusted, STR_NONE));
    cr_expect_not(client_is_https(false, &proxy, &trusted, STR("")));
    cr_expect_not(client_is_https(false, &stranger, &trusted, STR("https")));
}

#include "common/base/address.h"

#include <criterion/criterion.h>
#include <string.h>

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

Test(address, tells_adjacent_addresses_apart)
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

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct address address;

        memset(&address, 7, sizeof(address));
        cr_expect_not(address_parse(str_of(wrong[i]), &address), "'%s'", wrong[i]);
        cr_expect_eq(address.b[0], 7, "'%s' touched the result", wrong[i]);
    }
}

Test(address, refuses_bytes_behind_a_nul_and_no_bytes_at_all)
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

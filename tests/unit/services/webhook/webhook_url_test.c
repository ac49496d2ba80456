#include "services/webhook/webhook_url.h"

#include <criterion/criterion.h>
#include <string.h>

#include "services/webhook/address_policy.h"
#include "tests/support/destinations.h"

static bool is_accepted(const char *url, const struct networks *allowed)
{
    const struct address_rules rules = {.allowed = *allowed};
    const struct address_policy policy = {.rules = &rules};
    struct webhook_url to;

    return webhook_url_read(str_of(url), &to) == NULL &&
           (!to.is_literal || address_policy_allows(&policy, &to.address));
}

Test(webhook_url, refuses_every_url_of_the_table)
{
    const struct networks none = {0};

    cr_assert_geq(bad_destinations_count, 80);
    for (size_t i = 0; i < bad_destinations_count; i++)
        cr_expect(!is_accepted(bad_destinations[i].url, &none), "%s (%s)", bad_destinations[i].url,
                  bad_destinations[i].why);
}

Test(webhook_url, accepts_names_and_public_addresses)
{
    static const char *const urls[] = {
        "https://example.com",
        "https://example.com/",
        "https://example.com?x=1",
        "https://Example.COM/hook?a=b&c=%20d",
        "HTTPS://EXAMPLE.com/x",
        "https://hooks.a-b.example.co.uk:8443/x/y;z=1",
        "https://example.com:1024/",
        "https://example.com:65535/",
        "https://xn--exmple-cua.com/",
        "https://1a.example.com/",
        "https://3com.com/",
        "https://notlocal.example/",
        "https://mylocalhost.net/",
        "https://8.8.8.8/",
        "https://1.1.1.1:8443/x",
        "https://[2606:4700:4700::1111]/",
        "https://[2606:4700:4700::1111]:8443/x",
        "https://172.15.255.255/",
        "https://172.32.0.0/",
        "https://100.63.255.255/",
        "https://100.128.0.0/",
        "https://192.169.0.0/",
        "https://223.255.255.255/",
    };
    const struct networks none = {0};

    for (size_t i = 0; i < ARRAY_SIZE(urls); i++)
        cr_expect(is_accepted(urls[i], &none), "%s", urls[i]);
}

Test(webhook_url, returns_host_and_port)
{
    struct webhook_url to;

    cr_assert_null(webhook_url_read(STR("https://Hook.example.com:8443/x:1/@?a"), &to));
    cr_assert(str_equal(to.host, STR("Hook.example.com")));
    cr_assert_eq(to.port, 8443);
    cr_assert_not(to.is_literal);
    cr_assert_null(webhook_url_read(STR("https://[2606:4700:4700::1111]"), &to));
    cr_assert(str_equal(to.host, STR("2606:4700:4700::1111")));
    cr_assert_eq(to.port, 443);
    cr_assert(to.is_literal);
}

Test(webhook_url, refuses_what_is_too_long)
{
    char url[WEBHOOK_URL_MAX + 2];
    struct webhook_url to;

    memset(url, 'a', sizeof(url));
    memcpy(url, "https://example.com/", 20);
    cr_assert_null(webhook_url_read((struct str){url, WEBHOOK_URL_MAX}, &to));
    cr_assert_not_null(webhook_url_read((struct str){url, WEBHOOK_URL_MAX + 1}, &to));
}

Test(webhook_url, refuses_a_name_that_is_too_long)
{
    char url[300] = "https://";
    struct webhook_url to;

    for (int i = 0; i < 127; i++)
        strcat(url, "a.");
    strcat(url, "com");
    cr_assert_not_null(webhook_url_read(str_of(url), &to));
}

Test(webhook_url, refuses_a_nul)
{
    struct webhook_url to;

    cr_assert_not_null(webhook_url_read(STR("https://example.com\0.evil.com/"), &to));
}

Test(webhook_url, names_the_fault_and_what_to_do)
{
    static const struct {
        const char *url, *part;
    } cases[] = {
        {"https://foo_bar.hooks.example.com/", "do not allow: _"},
        {"https://b\xc3\xbc"
         "cher.example.com/",
         "xn--"},
        {"https://example.com/\xc3\xa9", "% and two hexadecimal digits"},
        {"https://example.com./", "full stop"},
        {"https://-a.example.com/", "hyphen"},
        {"https://[0:0:0:0:0:0:0:1]/", "canonically"},
        {"https://example.com/#top", "fragment"},
        {"https://example.com:0/", "443, 8443 and 1024 to 65535"},
        {"https://example.com:65536/", "443, 8443 and 1024 to 65535"},
        {"HTTP://example.com/", "https://"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct webhook_url to;
        const char *wrong = webhook_url_read(str_of(cases[i].url), &to);

        cr_assert_not_null(wrong, "%s", cases[i].url);
        cr_expect_not_null(strstr(wrong, cases[i].part), "%s: %s", cases[i].url, wrong);
    }
}

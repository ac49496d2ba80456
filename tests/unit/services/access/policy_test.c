#include "tests/unit/services/access/parse_fixture.h"

#define INVALID "parameter_invalid"

enum { REQUIRE_HTTPS = 1, ENABLED, ALLOWLIST };

Test(policy, changes_only_given_fields)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_policy_set, "{\"require_https\":true}");
    cr_assert_eq(parsed.query->statement, SQL_CHANGE_POLICY);
    parsed_param(&parsed, REQUIRE_HTTPS, "true");
    parsed_param(&parsed, ENABLED, NULL);
    parsed_param(&parsed, ALLOWLIST, NULL);
    arena_release(&parsed.arena);
}

Test(policy, stores_every_address_once_and_in_its_canonical_form)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_policy_set,
                   "{\"ip_allowlist\":[\"10.0.0.1\",\"::FFFF:10.0.0.1\",\"2001:DB8:0::1\"],"
                   "\"ip_allowlist_enabled\":false}");
    parsed_param(&parsed, ENABLED, "false");
    parsed_param(&parsed, ALLOWLIST, "{10.0.0.1,2001:db8::1}");
    arena_release(&parsed.arena);
}

Test(policy, takes_an_empty_list_which_is_not_the_same_as_none)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_policy_set, "{\"ip_allowlist\":[]}");
    parsed_param(&parsed, ALLOWLIST, "{}");
    arena_release(&parsed.arena);
}

Test(policy, names_the_address_that_is_wrong)
{
    parsed_refuses(&access_policy_set, "{\"ip_allowlist\":[\"10.0.0.1\",\"10.0.0.0/8\"]}", INVALID,
                   "ip_allowlist[1]");
    parsed_refuses(&access_policy_set, "{\"ip_allowlist\":[7]}", INVALID, "ip_allowlist[0]");
    parsed_refuses(&access_policy_set, "{\"ip_allowlist\":[\"10.0.0.1\\u0000\"]}", INVALID,
                   "ip_allowlist[0]");
}

Test(policy, refuses_bodies_that_break_the_contract)
{
    parsed_refuses(&access_policy_set, "{\"ip_allowlist\":\"10.0.0.1\"}", INVALID, "ip_allowlist");
    parsed_refuses(&access_policy_set, "{\"ip_allowlist\":null}", INVALID, "ip_allowlist");
    parsed_refuses(&access_policy_set, "{\"require_https\":\"true\"}", INVALID, "require_https");
    parsed_refuses(&access_policy_set, "{\"require_http\":true}", INVALID, "require_http");
}

Test(policy, refuses_more_addresses_than_a_list_may_hold)
{
    char body[16000] = "{\"ip_allowlist\":[\"10.0.0.1\"";

    for (int i = 0; i < 1000; i++)
        strcat(body, ",\"10.0.0.1\"");
    strcat(body, "]}");
    parsed_refuses(&access_policy_set, body, INVALID, "ip_allowlist");
}

Test(policy, of_no_organization_is_refused)
{
    parsed_needs_organization(&access_policy_get, "");
    parsed_needs_organization(&access_policy_set, "{}");
}

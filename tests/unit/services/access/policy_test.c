#include "tests/unit/services/access/judged.h"

#define INVALID "parameter_invalid"

enum { REQUIRE_HTTPS = 1, ENABLED, ALLOWLIST };

Test(policy, changes_only_what_is_given)
{
    struct judged judged;

    judged_accepts(&judged, policy_set_judge, "{\"require_https\":true}");
    cr_assert_eq(judged.ask->statement, SQL_CHANGE_POLICY);
    judged_param(&judged, REQUIRE_HTTPS, "true");
    judged_param(&judged, ENABLED, NULL);
    judged_param(&judged, ALLOWLIST, NULL);
    arena_release(&judged.arena);
}

Test(policy, stores_every_address_once_and_in_its_canonical_form)
{
    struct judged judged;

    judged_accepts(&judged, policy_set_judge,
                   "{\"ip_allowlist\":[\"10.0.0.1\",\"::FFFF:10.0.0.1\",\"2001:DB8:0::1\"],"
                   "\"ip_allowlist_enabled\":false}");
    judged_param(&judged, ENABLED, "false");
    judged_param(&judged, ALLOWLIST, "{10.0.0.1,2001:db8::1}");
    arena_release(&judged.arena);
}

Test(policy, takes_an_empty_list_which_is_not_the_same_as_none)
{
    struct judged judged;

    judged_accepts(&judged, policy_set_judge, "{\"ip_allowlist\":[]}");
    judged_param(&judged, ALLOWLIST, "{}");
    arena_release(&judged.arena);
}

Test(policy, names_the_address_that_is_wrong)
{
    judged_refuses(policy_set_judge, "{\"ip_allowlist\":[\"10.0.0.1\",\"10.0.0.0/8\"]}", INVALID,
                   "ip_allowlist[1]");
    judged_refuses(policy_set_judge, "{\"ip_allowlist\":[7]}", INVALID, "ip_allowlist[0]");
    judged_refuses(policy_set_judge, "{\"ip_allowlist\":[\"10.0.0.1\\u0000\"]}", INVALID,
                   "ip_allowlist[0]");
}

Test(policy, refuses_bodies_that_break_the_contract)
{
    judged_refuses(policy_set_judge, "{\"ip_allowlist\":\"10.0.0.1\"}", INVALID, "ip_allowlist");
    judged_refuses(policy_set_judge, "{\"ip_allowlist\":null}", INVALID, "ip_allowlist");
    judged_refuses(policy_set_judge, "{\"require_https\":\"true\"}", INVALID, "require_https");
    judged_refuses(policy_set_judge, "{\"require_http\":true}", INVALID, "require_http");
}

Test(policy, refuses_more_addresses_than_a_list_may_hold)
{
    char body[16000] = "{\"ip_allowlist\":[\"10.0.0.1\"";

    for (int i = 0; i < 1000; i++)
        strcat(body, ",\"10.0.0.1\"");
    strcat(body, "]}");
    judged_refuses(policy_set_judge, body, INVALID, "ip_allowlist");
}

Test(policy, of_no_organization_is_refused)
{
    judged_needs_organization(policy_get_judge, "");
    judged_needs_organization(policy_set_judge, "{}");
}

#include "tests/unit/services/access/judged.h"

#define INVALID "parameter_invalid"

Test(organization, is_created_with_an_id_of_the_service)
{
    struct judged judged;

    judged_accepts(&judged, org_create_judge, "{\"name\":\"Acme\",\"plan\":\"free\"}");
    cr_assert_eq(judged.ask->statement, SQL_CREATE_ORGANIZATION);
    cr_assert_eq(judged.ask->params.n, 3);
    cr_assert_eq(judged.ask->params.at[0].n, UUID_TEXT);
    cr_assert_not(str_equal(judged.ask->params.at[0], STR(JUDGED_ORGANIZATION)));
    judged_param(&judged, 1, "Acme");
    judged_param(&judged, 2, "free");
    arena_release(&judged.arena);
}

Test(organization, gets_the_plan_that_comes_with_api_access_when_none_is_named)
{
    struct judged judged;

    judged_accepts(&judged, org_create_judge, "{\"name\":\"Acme\"}");
    judged_param(&judged, 2, "starter");
    arena_release(&judged.arena);
}

Test(organization, refuses_bodies_that_break_the_contract)
{
    judged_refuses(org_create_judge, "", "invalid_json", NULL);
    judged_refuses(org_create_judge, "[]", INVALID, NULL);
    judged_refuses(org_create_judge, "{}", "parameter_not_found", "name");
    judged_refuses(org_create_judge, "{\"name\":\"\"}", INVALID, "name");
    judged_refuses(org_create_judge, "{\"name\":\"a\",\"name\":\"b\"}", "invalid_json", NULL);
    judged_refuses(org_create_judge, "{\"name\":\"a\\u0000\"}", INVALID, "name");
    judged_refuses(org_create_judge, "{\"name\":\"a\",\"plan\":\"gold\"}", INVALID, "plan");
    judged_refuses(org_create_judge, "{\"name\":\"a\",\"organization_id\":\"x\"}", INVALID,
                   "organization_id");
    judged_refuses(org_set_judge, "{\"rate_limit\":0}", INVALID, "rate_limit");
    judged_refuses(org_set_judge, "{\"rate_limit\":1000001}", INVALID, "rate_limit");
    judged_refuses(org_set_judge, "{\"rate_limit\":1.5}", INVALID, "rate_limit");
    judged_refuses(org_set_judge, "{\"name\":\"b\"}", INVALID, "name");
    judged_refuses(org_set_judge, "{}", "parameter_not_found", NULL);
}

Test(organization, counts_the_length_of_a_name_in_code_points)
{
    char body[2000] = "{\"name\":\"";
    struct judged judged;

    for (int i = 0; i < 255; i++)
        strcat(body, "\xf0\x9f\x98\x80");
    strcat(body, "\"}");
    judged_accepts(&judged, org_create_judge, body);
    arena_release(&judged.arena);
    strcpy(body + strlen(body) - 2, "x\"}");
    judged_refuses(org_create_judge, body, INVALID, "name");
}

Test(organization, changes_only_what_is_given)
{
    struct judged judged;

    judged_accepts(&judged, org_set_judge, "{\"rate_limit\":42}");
    cr_assert_eq(judged.ask->statement, SQL_CHANGE_ORGANIZATION);
    judged_param(&judged, 0, JUDGED_ORGANIZATION);
    judged_param(&judged, 1, NULL);
    judged_param(&judged, 2, "42");
    judged_param(&judged, 3, "false");
    arena_release(&judged.arena);
    judged_accepts(&judged, org_set_judge, "{\"rate_limit\":null}");
    judged_param(&judged, 2, NULL);
    judged_param(&judged, 3, "true");
    arena_release(&judged.arena);
}

Test(organization, is_counted_with_all_others_or_with_those_of_its_plan)
{
    struct judged judged;

    judged_accepts(&judged, org_count_judge, "");
    cr_assert_eq(judged.ask->statement, SQL_COUNT_ORGANIZATIONS);
    judged_param(&judged, 0, NULL);
    arena_release(&judged.arena);
    judged_accepts(&judged, org_count_judge, "{\"plan\":\"growth\"}");
    judged_param(&judged, 0, "growth");
    arena_release(&judged.arena);
    judged_refuses(org_count_judge, "{\"plan\":\"gold\"}", INVALID, "plan");
    judged_refuses(org_count_judge, "{\"name\":\"Acme\"}", INVALID, "name");
}

Test(organization, must_be_named_by_whoever_asks_about_it)
{
    judged_needs_organization(org_get_judge, "");
    judged_needs_organization(org_set_judge, "{}");
}

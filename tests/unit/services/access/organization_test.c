#include "tests/unit/services/access/parse_fixture.h"

#define INVALID "parameter_invalid"

Test(organization, is_created_with_an_id_of_the_service)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_org_create, "{\"name\":\"Acme\",\"plan\":\"free\"}");
    cr_assert_eq(parsed.query->statement, SQL_CREATE_ORGANIZATION);
    cr_assert_eq(parsed.query->params.n, 4);
    cr_assert_eq(parsed.query->params.at[0].n, UUID_TEXT);
    cr_assert_not(str_equal(parsed.query->params.at[0], STR(PARSED_ORGANIZATION)));
    parsed_param(&parsed, 1, "Acme");
    parsed_param(&parsed, 2, "free");
    parsed_param(&parsed, 3, "main");
    arena_release(&parsed.arena);
}

Test(organization, gets_the_plan_that_comes_with_api_access_when_none_is_named)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_org_create, "{\"name\":\"Acme\"}");
    parsed_param(&parsed, 2, "starter");
    arena_release(&parsed.arena);
}

Test(organization, is_in_the_first_cell_unless_another_one_is_named)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_org_create, "{\"name\":\"Acme\",\"cell\":\"second\"}");
    parsed_param(&parsed, 3, "second");
    arena_release(&parsed.arena);
    parsed_refuses(&access_org_create, "{\"name\":\"Acme\",\"cell\":\"third\"}", INVALID, "cell");
    parsed_refuses(&access_org_create, "{\"name\":\"Acme\",\"cell\":\"\"}", INVALID, "cell");
    parsed_refuses(&access_org_create, "{\"name\":\"Acme\",\"cell\":\"main,second\"}", INVALID,
                   "cell");
}

Test(organization, refuses_bodies_that_break_the_contract)
{
    parsed_refuses(&access_org_create, "", "invalid_json", NULL);
    parsed_refuses(&access_org_create, "[]", INVALID, NULL);
    parsed_refuses(&access_org_create, "{}", "parameter_not_found", "name");
    parsed_refuses(&access_org_create, "{\"name\":\"\"}", INVALID, "name");
    parsed_refuses(&access_org_create, "{\"name\":\"a\",\"name\":\"b\"}", "invalid_json", NULL);
    parsed_refuses(&access_org_create, "{\"name\":\"a\\u0000\"}", INVALID, "name");
    parsed_refuses(&access_org_create, "{\"name\":\"a\",\"plan\":\"gold\"}", INVALID, "plan");
    parsed_refuses(&access_org_create, "{\"name\":\"a\",\"organization_id\":\"x\"}", INVALID,
                   "organization_id");
    parsed_refuses(&access_org_set, "{\"rate_limit\":0}", INVALID, "rate_limit");
    parsed_refuses(&access_org_set, "{\"rate_limit\":1000001}", INVALID, "rate_limit");
    parsed_refuses(&access_org_set, "{\"rate_limit\":1.5}", INVALID, "rate_limit");
    parsed_refuses(&access_org_set, "{\"name\":\"b\"}", INVALID, "name");
    parsed_refuses(&access_org_set, "{}", "parameter_not_found", NULL);
}

Test(organization, counts_the_length_of_a_name_in_code_points)
{
    char body[2000] = "{\"name\":\"";
    struct parsed parsed;

    for (int i = 0; i < 255; i++)
        strcat(body, "\xf0\x9f\x98\x80");
    strcat(body, "\"}");
    parsed_accepts(&parsed, &access_org_create, body);
    arena_release(&parsed.arena);
    strcpy(body + strlen(body) - 2, "x\"}");
    parsed_refuses(&access_org_create, body, INVALID, "name");
}

Test(organization, changes_only_given_fields)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_org_set, "{\"rate_limit\":42}");
    cr_assert_eq(parsed.query->statement, SQL_CHANGE_ORGANIZATION);
    parsed_param(&parsed, 0, PARSED_ORGANIZATION);
    parsed_param(&parsed, 1, NULL);
    parsed_param(&parsed, 2, "42");
    parsed_param(&parsed, 3, "false");
    arena_release(&parsed.arena);
    parsed_accepts(&parsed, &access_org_set, "{\"rate_limit\":null}");
    parsed_param(&parsed, 2, NULL);
    parsed_param(&parsed, 3, "true");
    arena_release(&parsed.arena);
}

Test(organization, is_counted_with_all_others_or_with_those_of_its_plan)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_org_count, "");
    cr_assert_eq(parsed.query->statement, SQL_COUNT_ORGANIZATIONS);
    parsed_param(&parsed, 0, NULL);
    arena_release(&parsed.arena);
    parsed_accepts(&parsed, &access_org_count, "{\"plan\":\"growth\"}");
    parsed_param(&parsed, 0, "growth");
    arena_release(&parsed.arena);
    parsed_refuses(&access_org_count, "{\"plan\":\"gold\"}", INVALID, "plan");
    parsed_refuses(&access_org_count, "{\"name\":\"Acme\"}", INVALID, "name");
}

Test(organization, must_be_named_in_commands_about_it)
{
    parsed_needs_organization(&access_org_get, "");
    parsed_needs_organization(&access_org_set, "{}");
}

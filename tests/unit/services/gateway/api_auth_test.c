#include "services/gateway/api_auth.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "common/crypto/crypto.h"

/* -- the key --------------------------------------------------------------------------------- */

static char token[TOKEN_TEXT + 1];

static void make(void)
{
    token_make(TOKEN_LIVE, token);
}

/* Reads a token that stands between `before` and `after`. */
static enum authorization read_between(const char *before, const char *after)
{
    char value[200];
    struct str out = STR_NONE;
    enum authorization result;

    snprintf(value, sizeof(value), "%s%s%s", before, token, after);
    result = authorization_read(str_of(value), 1, &out);
    cr_expect_eq(out.p != NULL, result == AUTHORIZATION_TOKEN);
    return result;
}

TestSuite(authorization, .init = make);

Test(authorization, finds_the_token_after_bearer_in_any_case)
{
    cr_expect_eq(read_between("Bearer ", ""), AUTHORIZATION_TOKEN);
    cr_expect_eq(read_between("bearer ", ""), AUTHORIZATION_TOKEN);
    cr_expect_eq(read_between("BEARER ", ""), AUTHORIZATION_TOKEN);
}

Test(authorization, refuses_anything_around_the_token)
{
    cr_expect_eq(read_between("Bearer  ", ""), AUTHORIZATION_MALFORMED);
    cr_expect_eq(read_between("Bearer ", " "), AUTHORIZATION_MALFORMED);
    cr_expect_eq(read_between("Bearer ", "\t"), AUTHORIZATION_MALFORMED);
    cr_expect_eq(read_between("Bearer\t", ""), AUTHORIZATION_MALFORMED);
    cr_expect_eq(read_between(" Bearer ", ""), AUTHORIZATION_MALFORMED);
    cr_expect_eq(read_between("Bearer \"", "\""), AUTHORIZATION_MALFORMED);
    cr_expect_eq(read_between("Bearer ", ","), AUTHORIZATION_MALFORMED);
    cr_expect_eq(read_between("Basic ", ""), AUTHORIZATION_MALFORMED);
    cr_expect_eq(read_between("", ""), AUTHORIZATION_MALFORMED);
}

Test(authorization, refuses_a_scheme_without_a_token)
{
    struct str out = STR_NONE;

    cr_expect_eq(authorization_read(STR(""), 1, &out), AUTHORIZATION_MALFORMED);
    cr_expect_eq(authorization_read(STR("Bearer"), 1, &out), AUTHORIZATION_MALFORMED);
    cr_expect_eq(authorization_read(STR("Bearer "), 1, &out), AUTHORIZATION_MALFORMED);
    cr_expect_null(out.p);
}

Test(authorization, refuses_a_checksum_that_is_wrong)
{
    token[20] = token[20] == 'a' ? 'b' : 'a';
    cr_expect_eq(read_between("Bearer ", ""), AUTHORIZATION_MALFORMED);
}

Test(authorization, distinguishes_a_retired_key_from_a_malformed_one)
{
    struct str out = STR_NONE;

    cr_expect_eq(authorization_read(STR("Bearer svc_test_anything"), 1, &out),
                 AUTHORIZATION_LEGACY);
    cr_expect_eq(authorization_read(STR("Bearer svc_test_"), 1, &out), AUTHORIZATION_LEGACY);
    cr_expect_null(out.p);
}

Test(authorization, refuses_none_and_two)
{
    struct str out = STR_NONE;

    cr_expect_eq(authorization_read(STR_NONE, 0, &out), AUTHORIZATION_MISSING);
    cr_expect_eq(authorization_read(STR("Bearer x"), 2, &out), AUTHORIZATION_MALFORMED);
    cr_expect_null(out.p);
}

/* -- the checks ------------------------------------------------------------------------------ */

static struct key_record record;
static struct api_route route;
static struct facts facts;

/* Breaks everything that the checks look at. Each test repairs what earlier checks look at. */
static void spoil(void)
{
    record = (struct key_record){
        .plan_has_api = false, .require_https = true, .ip_allowlist_enabled = true};
    route = (struct api_route){
        .end = API_ROUTE_UNKNOWN, .operation = OP_UNKNOWN, .writes = true, .has_body = true};
    facts =
        (struct facts){.record = &record, .route = &route, .over_limit = true, .too_large = true};
}

TestSuite(checks, .init = spoil);

Test(checks, come_in_the_order_of_the_contract)
{
    static struct address listed;

    cr_expect_eq(checks_run(&facts), OUTCOME_API_PLAN_RESTRICTED);
    record.plan_has_api = true;
    cr_expect_eq(checks_run(&facts), OUTCOME_HTTPS_REQUIRED);
    facts.is_https = true;
    cr_expect_eq(checks_run(&facts), OUTCOME_IP_NOT_ALLOWED);
    record.addresses = &listed;
    record.n_addresses = 1;
    cr_expect_eq(checks_run(&facts), OUTCOME_RATE_LIMITED);
    facts.over_limit = false;
    cr_expect_eq(checks_run(&facts), OUTCOME_NOT_FOUND);
    route.end = API_ROUTE_NO_METHOD;
    cr_expect_eq(checks_run(&facts), OUTCOME_METHOD_NOT_ALLOWED);
    route.end = API_ROUTE_FOUND;
    cr_expect_eq(checks_run(&facts), OUTCOME_NOT_ACCEPTABLE);
    facts.accepts_json = true;
    cr_expect_eq(checks_run(&facts), OUTCOME_INSUFFICIENT_SCOPE);
    record.may_write = true;
    cr_expect_eq(checks_run(&facts), OUTCOME_UNSUPPORTED_MEDIA);
    facts.sends_json = true;
    cr_expect_eq(checks_run(&facts), OUTCOME_PAYLOAD_TOO_LARGE);
    facts.too_large = false;
    cr_expect_eq(checks_run(&facts), OUTCOME_OK);
}

Test(checks, do_not_apply_unless_required)
{
    record = (struct key_record){.plan_has_api = true};
    route = (struct api_route){.end = API_ROUTE_FOUND, .operation = OP_PING};
    facts.over_limit = facts.too_large = false;
    facts.accepts_json = true;
    cr_expect_eq(checks_run(&facts), OUTCOME_OK);
}

Test(checks, allow_no_address_when_the_list_is_empty)
{
    record = (struct key_record){.plan_has_api = true, .ip_allowlist_enabled = true};
    cr_expect_eq(checks_run(&facts), OUTCOME_IP_NOT_ALLOWED);
}

#include "services/gateway/api_auth.h"

#include <criterion/criterion.h>

static struct key_record record;
static struct api_route route;
static struct facts facts;

/* Everything is wrong at once; each test puts right what comes before. */
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

Test(checks, do_not_ask_for_what_was_not_required)
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

#include "tests/unit/services/access/parse_fixture.h"

#define INVALID "parameter_invalid"
#define ZEROS   "0,0,0,0,0,0,0,0,0,0,0,0,0"
#define A_KEY                                                                                      \
    "{\"organization_id\":\"" PARSED_ORGANIZATION "\",\"api_key_id\":\"" PARSED_KEY                \
    "\",\"at\":1,\"minute\":7"
#define NO_ANSWERS ",\"latency\":[" ZEROS "]"

/* Parameters of the statement. */
enum { ORGANIZATIONS, KEYS, TIMES, MINUTES, OUTCOMES, LATENCY };

Test(report_usage, reports_when_keys_were_used_and_for_what)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_report_usage,
                   "{\"keys\":[" A_KEY ",\"limited\":5,\"allowed\":3,"
                   "\"latency\":[1,0,0,0,0,0,0,0,0,0,0,0,7]},"
                   "{\"organization_id\":\"" PARSED_KEY "\",\"api_key_id\":\"" PARSED_ORGANIZATION
                   "\",\"at\":2,\"minute\":8" NO_ANSWERS "}]}");
    cr_assert_eq(parsed.query->statement, SQL_REPORT_USAGE);
    parsed_param(&parsed, ORGANIZATIONS, "{" PARSED_ORGANIZATION "," PARSED_KEY "}");
    parsed_param(&parsed, KEYS, "{" PARSED_KEY "," PARSED_ORGANIZATION "}");
    parsed_param(&parsed, TIMES, "{1,2}");
    parsed_param(&parsed, MINUTES, "{7,8}");
    parsed_param(&parsed, OUTCOMES, "{3,0,0,0,5,0,0,0,0,0}");
    parsed_param(&parsed, LATENCY, "{1,0,0,0,0,0,0,0,0,0,0,0,7," ZEROS "}");
    arena_release(&parsed.arena);
}

/* Other commands lock their organization before its keys; this one locks only keys. Earlier in the
   batch, it could deadlock with another batch that waits for a key while it holds the organization
   that is next here. */
Test(report_usage, comes_last_in_its_batch)
{
    struct parsed used, other;

    parsed_accepts(&used, &access_report_usage, "{\"keys\":[" A_KEY NO_ANSWERS "}]}");
    parsed_accepts(&other, &access_policy_get, "");
    memset(&other.command.caller.organization_id, 0xbf, sizeof(struct uuid));
    cr_assert_not_null(access_for_organization(&other.command, SQL_READ_POLICY));
    cr_assert_gt(used.command.lock_order, other.command.lock_order);
    arena_release(&used.arena);
    arena_release(&other.arena);
}

Test(report_usage, names_the_key_that_is_wrong)
{
    parsed_refuses(&access_report_usage, "{\"keys\":[]}", INVALID, "keys");
    parsed_refuses(&access_report_usage, "{\"keys\":[{}]}", "parameter_not_found",
                   "keys[0].organization_id");
    parsed_refuses(&access_report_usage,
                   "{\"keys\":[{\"organization_id\":\"x,y}\",\"api_key_id\":\"" PARSED_KEY
                   "\",\"at\":1}]}",
                   INVALID, "keys[0].organization_id");
    parsed_refuses(&access_report_usage, "{\"keys\":[" A_KEY ",\"latency\":[1]}]}", INVALID,
                   "keys[0].latency");
    parsed_refuses(&access_report_usage, "{\"keys\":[" A_KEY NO_ANSWERS ",\"denied\":-1}]}",
                   INVALID, "keys[0].denied");
    parsed_refuses(&access_report_usage, "{\"keys\":[" A_KEY "}]}", "parameter_not_found",
                   "keys[0].latency");
}

#include "tests/unit/services/access/parse_fixture.h"

#define INVALID "parameter_invalid"
#define HASH    "abababababababababababababababababababababababababababababababab"
#define QUOTA   "\"window\":179518643,\"key_limit\":1667,\"organization_limit\":4167"

Test(gateway_commands, asks_for_a_key_by_the_hash_of_its_token)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_authenticate, "{\"token_hash\":\"" HASH "\"}");
    cr_assert_eq(parsed.query->statement, SQL_AUTHENTICATE);
    parsed_param(&parsed, 0, HASH);
    parsed_param(&parsed, 1, "1667");
    arena_release(&parsed.arena);
}

Test(gateway_commands, cannot_ask_for_anything_but_a_hash)
{
    parsed_refuses(&access_authenticate, "{}", "parameter_not_found", "token_hash");
    parsed_refuses(&access_authenticate, "{\"token_hash\":\"ab\"}", INVALID, "token_hash");
    parsed_refuses(&access_authenticate,
                   "{\"token_hash\":"
                   "\"gbababababababababababababababababababababababababababababababab\"}",
                   INVALID, "token_hash");
}

Test(gateway_commands, takes_a_share_of_a_window)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_quota, "{" QUOTA ",\"want\":50}");
    cr_assert_eq(parsed.query->statement, SQL_GRANT_QUOTA);
    cr_assert_neq(parsed.command.lock_order, 0);
    parsed_param(&parsed, 1, PARSED_ORGANIZATION);
    parsed_param(&parsed, 2, PARSED_KEY);
    parsed_param(&parsed, 3, "179518643");
    parsed_param(&parsed, 4, "50");
    parsed_param(&parsed, 5, "1667");
    parsed_param(&parsed, 6, "4167");
    arena_release(&parsed.arena);
}

Test(gateway_commands, orders_the_shares_of_one_organization_by_one_lock)
{
    struct parsed a, b;

    parsed_accepts(&a, &access_quota, "{" QUOTA ",\"want\":50}");
    parsed_init(&b, STR("{" QUOTA ",\"want\":1}"));
    b.command.caller.api_key_id.b[15]++;
    parsed_run(&b, &access_quota);
    cr_assert_eq(a.command.lock_order, b.command.lock_order);
    arena_release(&a.arena);
    arena_release(&b.arena);
}

/* Both for every organization: what locks rows comes after what waits for the advisory lock. */
Test(gateway_commands, orders_shares_before_whatever_locks_rows)
{
    for (int byte = 0; byte < 256; byte++) {
        struct parsed share, change;

        parsed_init(&share, STR("{" QUOTA ",\"want\":50}"));
        parsed_init(&change, STR("{\"require_https\":true}"));
        memset(share.command.caller.organization_id.b + 8, byte, 8);
        memset(change.command.caller.organization_id.b + 8, 255 - byte, 8);
        parsed_run(&share, &access_quota);
        parsed_run(&change, &access_policy_set);
        cr_assert_gt(share.command.lock_order, 0);
        cr_assert_gt(change.command.lock_order, share.command.lock_order);
        arena_release(&share.arena);
        arena_release(&change.arena);
    }
}

Test(gateway_commands, refuses_a_share_that_makes_no_sense)
{
    parsed_refuses(&access_quota, "{" QUOTA ",\"want\":0}", INVALID, "want");
    parsed_refuses(&access_quota, "{" QUOTA "}", "parameter_not_found", "want");
    parsed_refuses(&access_quota, "{" QUOTA ",\"want\":1e9}", INVALID, "want");
    parsed_needs_organization(&access_quota, "{" QUOTA ",\"want\":1}");
}

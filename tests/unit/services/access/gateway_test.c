#include "tests/unit/services/access/judged.h"

#define INVALID "parameter_invalid"
#define HASH    "abababababababababababababababababababababababababababababababab"
#define QUOTA   "\"window\":179518643,\"key_limit\":1667,\"organization_limit\":4167"

Test(gateway, asks_for_a_key_by_the_hash_of_its_token)
{
    struct judged judged;

    judged_accepts(&judged, authenticate_judge, "{\"token_hash\":\"" HASH "\"}");
    cr_assert_eq(judged.ask->statement, SQL_AUTHENTICATE);
    judged_param(&judged, 0, HASH);
    judged_param(&judged, 1, "1667");
    arena_release(&judged.arena);
}

Test(gateway, cannot_ask_for_anything_but_a_hash)
{
    judged_refuses(authenticate_judge, "{}", "parameter_not_found", "token_hash");
    judged_refuses(authenticate_judge, "{\"token_hash\":\"ab\"}", INVALID, "token_hash");
    judged_refuses(authenticate_judge,
                   "{\"token_hash\":"
                   "\"gbababababababababababababababababababababababababababababababab\"}",
                   INVALID, "token_hash");
}

Test(gateway, takes_a_share_of_a_window)
{
    struct judged judged;

    judged_accepts(&judged, quota_judge, "{" QUOTA ",\"want\":50}");
    cr_assert_eq(judged.ask->statement, SQL_GRANT_QUOTA);
    cr_assert_neq(judged.command.lock_order, 0);
    judged_param(&judged, 1, JUDGED_ORGANIZATION);
    judged_param(&judged, 2, JUDGED_KEY);
    judged_param(&judged, 3, "179518643");
    judged_param(&judged, 4, "50");
    judged_param(&judged, 5, "1667");
    judged_param(&judged, 6, "4167");
    arena_release(&judged.arena);
}

Test(gateway, orders_the_shares_of_one_organization_by_one_lock)
{
    struct judged a, b;

    judged_accepts(&a, quota_judge, "{" QUOTA ",\"want\":50}");
    judged_init(&b, STR("{" QUOTA ",\"want\":1}"));
    b.command.caller.api_key_id.b[15]++;
    judged_run(&b, quota_judge);
    cr_assert_eq(a.command.lock_order, b.command.lock_order);
    arena_release(&a.arena);
    arena_release(&b.arena);
}

/* Both for every organization: what locks rows comes after what waits for the advisory lock. */
Test(gateway, orders_shares_before_whatever_locks_rows)
{
    for (int byte = 0; byte < 256; byte++) {
        struct judged share, change;

        judged_init(&share, STR("{" QUOTA ",\"want\":50}"));
        judged_init(&change, STR("{\"require_https\":true}"));
        memset(share.command.caller.organization_id.b + 8, byte, 8);
        memset(change.command.caller.organization_id.b + 8, 255 - byte, 8);
        judged_run(&share, quota_judge);
        judged_run(&change, policy_set_judge);
        cr_assert_gt(share.command.lock_order, 0);
        cr_assert_gt(change.command.lock_order, share.command.lock_order);
        arena_release(&share.arena);
        arena_release(&change.arena);
    }
}

Test(gateway, refuses_a_share_that_makes_no_sense)
{
    judged_refuses(quota_judge, "{" QUOTA ",\"want\":0}", INVALID, "want");
    judged_refuses(quota_judge, "{" QUOTA "}", "parameter_not_found", "want");
    judged_refuses(quota_judge, "{" QUOTA ",\"want\":1e9}", INVALID, "want");
    judged_needs_organization(quota_judge, "{" QUOTA ",\"want\":1}");
}

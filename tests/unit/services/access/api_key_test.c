#include "common/base/ascii.h"
#include "common/crypto/crypto.h"
#include "tests/unit/services/access/parse_fixture.h"

#define INVALID "parameter_invalid"

enum { HASH = 2, NAME, SCOPE, PREFIX, LAST_FOUR, EXPIRES_IN };

Test(api_key, sends_the_hash_of_its_token_to_the_database_and_never_the_token)
{
    struct parsed parsed;
    uint8_t hash[SHA256_BYTES];
    char hash_text[2 * SHA256_BYTES + 1];
    struct str token;

    parsed_accepts(&parsed, &access_key_create, "{\"name\":\"k\",\"scope\":\"full\"}");
    token = parsed.query->secret;
    cr_assert_str_eq(parsed.query->secret_name, "token");
    cr_assert_eq(token_classify(token), TOKEN_LIVE);
    token_hash(token, hash);
    hex_write(hash, sizeof(hash), hash_text);
    parsed_param(&parsed, HASH, hash_text);
    for (size_t i = 0; i < parsed.query->params.n; i++)
        cr_assert_not(str_equal(parsed.query->params.at[i], token));
    cr_assert(parsed.arena.wipes);
    arena_release(&parsed.arena);
}

Test(api_key, keeps_the_ends_of_its_token_for_display)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_key_create,
                   "{\"name\":\"k\",\"scope\":\"read\",\"expires_in\":60}");
    cr_assert_eq(token_classify(parsed.query->secret), TOKEN_READ);
    parsed_param(&parsed, NAME, "k");
    parsed_param(&parsed, SCOPE, "read");
    parsed_param(&parsed, PREFIX, "svc_read_");
    cr_assert(str_equal(parsed.query->params.at[LAST_FOUR],
                        (struct str){parsed.query->secret.p + TOKEN_TEXT - 4, 4}));
    parsed_param(&parsed, EXPIRES_IN, "60");
    arena_release(&parsed.arena);
}

Test(api_key, does_not_expire_by_default)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_key_create, "{\"name\":\"k\",\"scope\":\"full\"}");
    parsed_param(&parsed, EXPIRES_IN, NULL);
    arena_release(&parsed.arena);
}

Test(api_key, refuses_bodies_that_break_the_contract)
{
    parsed_refuses(&access_key_create, "{\"scope\":\"full\"}", "parameter_not_found", "name");
    parsed_refuses(&access_key_create, "{\"name\":\"k\"}", "parameter_not_found", "scope");
    parsed_refuses(&access_key_create, "{\"name\":\"k\",\"scope\":\"Full\"}", INVALID, "scope");
    parsed_refuses(&access_key_create, "{\"name\":\"k\",\"scope\":\"full\",\"expires_in\":0}",
                   INVALID, "expires_in");
    parsed_refuses(&access_key_create, "{\"name\":\"k\",\"scope\":\"full\",\"expires_in\":null}",
                   INVALID, "expires_in");
    parsed_refuses(&access_key_create, "{\"name\":\"k\",\"scope\":\"full\",\"token\":\"x\"}",
                   INVALID, "token");
    parsed_refuses(&access_key_revoke, "{}", "parameter_not_found", "id");
    parsed_refuses(&access_key_revoke, "{\"id\":\"1\"}", INVALID, "id");
}

Test(api_key, is_revoked_by_its_id)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_key_revoke, "{\"id\":\"" PARSED_KEY "\"}");
    cr_assert_eq(parsed.query->statement, SQL_REVOKE_KEY);
    parsed_param(&parsed, 0, PARSED_ORGANIZATION);
    parsed_param(&parsed, 1, PARSED_KEY);
    arena_release(&parsed.arena);
}

Test(api_key, that_is_rotated_has_a_token_of_each_kind_to_choose_from)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_key_rotate, "{\"id\":\"" PARSED_KEY "\",\"overlap\":\"1h\"}");
    cr_assert_eq(parsed.query->statement, SQL_ROTATE_KEY);
    parsed_param(&parsed, 1, PARSED_KEY);
    parsed_param(&parsed, 3, "3600");
    cr_assert_eq(token_classify(parsed.query->secret), TOKEN_LIVE);
    cr_assert_eq(token_classify(parsed.query->secret_of_reader), TOKEN_READ);
    for (size_t i = 0; i < parsed.query->params.n; i++)
        cr_assert_not(str_equal(parsed.query->params.at[i], parsed.query->secret) ||
                      str_equal(parsed.query->params.at[i], parsed.query->secret_of_reader));
    arena_release(&parsed.arena);
}

Test(api_key, that_is_rotated_ends_after_a_day_by_default)
{
    static const struct {
        const char *body, *seconds;
    } cases[] = {
        {"{\"id\":\"" PARSED_KEY "\"}", "86400"},
        {"{\"id\":\"" PARSED_KEY "\",\"overlap\":\"now\"}", "0"},
        {"{\"id\":\"" PARSED_KEY "\",\"overlap\":\"24h\"}", "86400"},
        {"{\"id\":\"" PARSED_KEY "\",\"overlap\":\"7d\"}", "604800"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct parsed parsed;

        parsed_accepts(&parsed, &access_key_rotate, cases[i].body);
        parsed_param(&parsed, 3, cases[i].seconds);
        arena_release(&parsed.arena);
    }
    parsed_refuses(&access_key_rotate, "{\"id\":\"" PARSED_KEY "\",\"overlap\":\"2h\"}", INVALID,
                   "overlap");
    parsed_refuses(&access_key_rotate, "{\"overlap\":\"1h\"}", "parameter_not_found", "id");
}

Test(api_key, of_no_organization_is_refused)
{
    parsed_needs_organization(&access_key_create, "{\"name\":\"k\",\"scope\":\"full\"}");
    parsed_needs_organization(&access_key_list, "");
    parsed_needs_organization(&access_key_revoke, "{\"id\":\"" PARSED_KEY "\"}");
}

#define TOKEN_HASH "abababababababababababababababababababababababababababababababab"
#define QUOTA      "\"window\":179518643,\"key_limit\":1667,\"organization_limit\":4167"

Test(api_key, gateway_asks_for_a_key_by_the_hash_of_its_token)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_authenticate, "{\"token_hash\":\"" TOKEN_HASH "\"}");
    cr_assert_eq(parsed.query->statement, SQL_AUTHENTICATE);
    parsed_param(&parsed, 0, TOKEN_HASH);
    parsed_param(&parsed, 1, "1667");
    arena_release(&parsed.arena);
}

Test(api_key, gateway_cannot_ask_for_anything_but_a_hash)
{
    parsed_refuses(&access_authenticate, "{}", "parameter_not_found", "token_hash");
    parsed_refuses(&access_authenticate, "{\"token_hash\":\"ab\"}", INVALID, "token_hash");
    parsed_refuses(&access_authenticate,
                   "{\"token_hash\":"
                   "\"gbababababababababababababababababababababababababababababababab\"}",
                   INVALID, "token_hash");
}

Test(api_key, gateway_takes_a_share_of_a_window)
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
    parsed_param(&parsed, 7, "false");
    arena_release(&parsed.arena);
}

Test(api_key, gateway_takes_a_share_of_refusals)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_quota, "{" QUOTA ",\"want\":50,\"refusals\":true}");
    parsed_param(&parsed, 7, "true");
    arena_release(&parsed.arena);
}

Test(api_key, gateway_orders_the_shares_of_one_organization_by_one_lock)
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

/* For all organizations: commands that lock rows follow those that wait for the advisory lock. */
Test(api_key, gateway_orders_shares_before_whatever_locks_rows)
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

Test(api_key, gateway_quota_needs_a_plausible_share)
{
    parsed_refuses(&access_quota, "{" QUOTA ",\"want\":0}", INVALID, "want");
    parsed_refuses(&access_quota, "{" QUOTA "}", "parameter_not_found", "want");
    parsed_refuses(&access_quota, "{" QUOTA ",\"want\":1e9}", INVALID, "want");
    parsed_needs_organization(&access_quota, "{" QUOTA ",\"want\":1}");
}

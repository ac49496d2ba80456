#include "common/crypto/token.h"
#include "tests/unit/services/access/judged.h"

#define INVALID "parameter_invalid"

enum { HASH = 2, NAME, SCOPE, PREFIX, LAST_FOUR, EXPIRES_IN };

Test(key, sends_the_hash_of_its_token_to_the_database_and_never_the_token)
{
    struct judged judged;
    uint8_t hash[SHA256_BYTES];
    char hash_text[2 * SHA256_BYTES + 1];
    struct str token;

    judged_accepts(&judged, key_create_judge, "{\"name\":\"k\",\"scope\":\"full\"}");
    token = judged.ask->secret;
    cr_assert_str_eq(judged.ask->secret_name, "token");
    cr_assert_eq(token_judge(token), TOKEN_LIVE);
    token_hash(token, hash);
    crypto_hex(hash, sizeof(hash), hash_text);
    judged_param(&judged, HASH, hash_text);
    for (size_t i = 0; i < judged.ask->params.n; i++)
        cr_assert_not(str_equal(judged.ask->params.at[i], token));
    arena_release(&judged.arena);
}

Test(key, keeps_the_ends_of_its_token_for_display)
{
    struct judged judged;

    judged_accepts(&judged, key_create_judge,
                   "{\"name\":\"k\",\"scope\":\"read\",\"expires_in\":60}");
    cr_assert_eq(token_judge(judged.ask->secret), TOKEN_READ);
    judged_param(&judged, NAME, "k");
    judged_param(&judged, SCOPE, "read");
    judged_param(&judged, PREFIX, "svc_read_");
    cr_assert(str_equal(judged.ask->params.at[LAST_FOUR],
                        (struct str){judged.ask->secret.p + TOKEN_TEXT - 4, 4}));
    judged_param(&judged, EXPIRES_IN, "60");
    arena_release(&judged.arena);
}

Test(key, does_not_expire_unless_it_is_told_to)
{
    struct judged judged;

    judged_accepts(&judged, key_create_judge, "{\"name\":\"k\",\"scope\":\"full\"}");
    judged_param(&judged, EXPIRES_IN, NULL);
    arena_release(&judged.arena);
}

Test(key, refuses_bodies_that_break_the_contract)
{
    judged_refuses(key_create_judge, "{\"scope\":\"full\"}", "parameter_not_found", "name");
    judged_refuses(key_create_judge, "{\"name\":\"k\"}", "parameter_not_found", "scope");
    judged_refuses(key_create_judge, "{\"name\":\"k\",\"scope\":\"Full\"}", INVALID, "scope");
    judged_refuses(key_create_judge, "{\"name\":\"k\",\"scope\":\"full\",\"expires_in\":0}",
                   INVALID, "expires_in");
    judged_refuses(key_create_judge, "{\"name\":\"k\",\"scope\":\"full\",\"expires_in\":null}",
                   INVALID, "expires_in");
    judged_refuses(key_create_judge, "{\"name\":\"k\",\"scope\":\"full\",\"token\":\"x\"}", INVALID,
                   "token");
    judged_refuses(key_revoke_judge, "{}", "parameter_not_found", "id");
    judged_refuses(key_revoke_judge, "{\"id\":\"1\"}", INVALID, "id");
}

Test(key, is_revoked_by_its_id)
{
    struct judged judged;

    judged_accepts(&judged, key_revoke_judge, "{\"id\":\"" JUDGED_KEY "\"}");
    cr_assert_eq(judged.ask->statement, SQL_REVOKE_KEY);
    judged_param(&judged, 0, JUDGED_ORGANIZATION);
    judged_param(&judged, 1, JUDGED_KEY);
    arena_release(&judged.arena);
}

Test(key, that_is_rotated_has_a_token_of_each_kind_to_choose_from)
{
    struct judged judged;

    judged_accepts(&judged, key_rotate_judge, "{\"id\":\"" JUDGED_KEY "\",\"overlap\":\"1h\"}");
    cr_assert_eq(judged.ask->statement, SQL_ROTATE_KEY);
    judged_param(&judged, 1, JUDGED_KEY);
    judged_param(&judged, 3, "3600");
    cr_assert_eq(token_judge(judged.ask->secret), TOKEN_LIVE);
    cr_assert_eq(token_judge(judged.ask->secret_of_reader), TOKEN_READ);
    for (size_t i = 0; i < judged.ask->params.n; i++)
        cr_assert_not(str_equal(judged.ask->params.at[i], judged.ask->secret) ||
                      str_equal(judged.ask->params.at[i], judged.ask->secret_of_reader));
    arena_release(&judged.arena);
}

Test(key, that_is_rotated_ends_after_a_day_unless_told_otherwise)
{
    static const struct {
        const char *body, *seconds;
    } cases[] = {
        {"{\"id\":\"" JUDGED_KEY "\"}", "86400"},
        {"{\"id\":\"" JUDGED_KEY "\",\"overlap\":\"now\"}", "0"},
        {"{\"id\":\"" JUDGED_KEY "\",\"overlap\":\"24h\"}", "86400"},
        {"{\"id\":\"" JUDGED_KEY "\",\"overlap\":\"7d\"}", "604800"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct judged judged;

        judged_accepts(&judged, key_rotate_judge, cases[i].body);
        judged_param(&judged, 3, cases[i].seconds);
        arena_release(&judged.arena);
    }
    judged_refuses(key_rotate_judge, "{\"id\":\"" JUDGED_KEY "\",\"overlap\":\"2h\"}", INVALID,
                   "overlap");
    judged_refuses(key_rotate_judge, "{\"overlap\":\"1h\"}", "parameter_not_found", "id");
}

Test(key, of_no_organization_is_refused)
{
    judged_needs_organization(key_create_judge, "{\"name\":\"k\",\"scope\":\"full\"}");
    judged_needs_organization(key_list_judge, "");
    judged_needs_organization(key_revoke_judge, "{\"id\":\"" JUDGED_KEY "\"}");
}

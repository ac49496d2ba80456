#include <stdio.h>

#include "common/crypto/crypto.h"
#include "tests/unit/services/access/judged.h"

#define INVALID "parameter_invalid"

enum { EMAIL = 2, ROLE, PASSWORD_HASH };

Test(user, gets_a_password_that_matches_the_stored_hash)
{
    struct judged judged;

    judged_accepts(&judged, user_create_judge, "{\"email\":\"A@Example.ORG\",\"role\":\"owner\"}");
    judged_param(&judged, EMAIL, "a@example.org");
    judged_param(&judged, ROLE, "owner");
    cr_assert_str_eq(judged.ask->secret_name, "password");
    cr_assert_eq(judged.ask->secret.n, 20);
    cr_assert(crypto_password_matches(judged.ask->secret, judged.ask->params.at[PASSWORD_HASH].p));
    arena_release(&judged.arena);
}

Test(user, may_bring_a_password_which_is_not_told_back)
{
    struct judged judged;

    judged_accepts(&judged, user_create_judge,
                   "{\"email\":\"a@b\",\"role\":\"member\",\"password\":\"correct horse\"}");
    cr_assert_null(judged.ask->secret_name);
    cr_assert(
        crypto_password_matches(STR("correct horse"), judged.ask->params.at[PASSWORD_HASH].p));
    arena_release(&judged.arena);
}

Test(user, refuses_what_is_no_email_address)
{
    static const char *const wrong[] = {"",      "a",    "@b",         "a@",     "a@b@c",
                                        "a b@c", " a@b", "a@b\\u00a0", "a@b\\n", "a@b\\u0000"};
    char body[128];

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(body, sizeof(body), "{\"email\":\"%s\",\"role\":\"owner\"}", wrong[i]);
        judged_refuses(user_create_judge, body, INVALID, "email");
    }
}

Test(user, refuses_bodies_that_break_the_contract)
{
    judged_refuses(user_create_judge, "{\"role\":\"owner\"}", "parameter_not_found", "email");
    judged_refuses(user_create_judge, "{\"email\":\"a@b\"}", "parameter_not_found", "role");
    judged_refuses(user_create_judge, "{\"email\":\"a@b\",\"role\":\"root\"}", INVALID, "role");
    judged_refuses(user_create_judge,
                   "{\"email\":\"a@b\",\"role\":\"owner\",\"password\":\"1234567\"}", INVALID,
                   "password");
    judged_needs_organization(user_create_judge, "{\"email\":\"a@b\",\"role\":\"owner\"}");
}

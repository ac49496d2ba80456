#include <stdio.h>

#include "common/crypto/crypto.h"
#include "tests/unit/services/access/parse_fixture.h"

#define INVALID "parameter_invalid"

enum { EMAIL = 2, ROLE, PASSWORD_HASH };

Test(user, gets_a_password_that_matches_the_stored_hash)
{
    struct parsed parsed;

    parsed_accepts(&parsed, &access_user_create,
                   "{\"email\":\"A@Example.ORG\",\"role\":\"owner\"}");
    parsed_param(&parsed, EMAIL, "a@example.org");
    parsed_param(&parsed, ROLE, "owner");
    cr_assert_str_eq(parsed.query->secret_name, "password");
    cr_assert_eq(parsed.query->secret.n, 20);
    cr_assert(
        crypto_password_matches(parsed.query->secret, parsed.query->params.at[PASSWORD_HASH].p));
    arena_release(&parsed.arena);
}

Test(user, may_set_a_password_which_is_not_returned)
{
    struct parsed parsed;

    parsed_accepts(
        &parsed, &access_user_create,
        "{\"email\":\"a@b\",\"role\":\"member\",\"password\":\"correct horse battery\"}");
    cr_assert_null(parsed.query->secret_name);
    cr_assert(crypto_password_matches(STR("correct horse battery"),
                                      parsed.query->params.at[PASSWORD_HASH].p));
    arena_release(&parsed.arena);
}

Test(user, refuses_a_password_that_is_short_or_easily_guessed)
{
    parsed_refuses(&access_user_create,
                   "{\"email\":\"a@b\",\"role\":\"member\",\"password\":\"correct horse\"}",
                   INVALID, "password");
    parsed_refuses(&access_user_create,
                   "{\"email\":\"a@b\",\"role\":\"member\",\"password\":\"passwordpassword\"}",
                   INVALID, "password");
}

Test(user, refuses_an_invalid_email_address)
{
    static const char *const wrong[] = {"",      "a",    "@b",         "a@",     "a@b@c",
                                        "a b@c", " a@b", "a@b\\u00a0", "a@b\\n", "a@b\\u0000"};
    char body[128];

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        snprintf(body, sizeof(body), "{\"email\":\"%s\",\"role\":\"owner\"}", wrong[i]);
        parsed_refuses(&access_user_create, body, INVALID, "email");
    }
}

Test(user, refuses_bodies_that_break_the_contract)
{
    parsed_refuses(&access_user_create, "{\"role\":\"owner\"}", "parameter_not_found", "email");
    parsed_refuses(&access_user_create, "{\"email\":\"a@b\"}", "parameter_not_found", "role");
    parsed_refuses(&access_user_create, "{\"email\":\"a@b\",\"role\":\"root\"}", INVALID, "role");
    parsed_refuses(&access_user_create,
                   "{\"email\":\"a@b\",\"role\":\"owner\",\"password\":\"1234567\"}", INVALID,
                   "password");
    parsed_needs_organization(&access_user_create, "{\"email\":\"a@b\",\"role\":\"owner\"}");
}

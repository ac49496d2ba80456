#include "services/gateway/api_auth.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "common/crypto/crypto.h"

static char token[TOKEN_TEXT + 1];

static void make(void)
{
    token_make(TOKEN_LIVE, token);
}

/* The token between `before` and `after`. */
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

Test(authorization, finds_the_token_behind_bearer_in_any_case)
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

Test(authorization, tells_a_retired_key_from_a_malformed_one)
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

#include "services/dashboard/identity.h"

#include <criterion/criterion.h>

/* -- the cookie ------------------------------------------------------------------------------ */

#define TOKEN "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-_9"
#define OTHER "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB-_9"

static void expect_token(const char *first, const char *second, bool is_https, const char *token)
{
    const struct str lines[] = {str_of(first), str_of(second)};
    struct str found = cookie_token(lines, second != NULL ? 2 : 1, is_https);

    cr_expect(str_equal(found, str_of(token)) && (found.p == NULL) == (token == NULL), "%s: %.*s",
              first, (int)found.n, found.p != NULL ? found.p : "");
}

Test(cookie, is_found_among_others)
{
    expect_token("session=" TOKEN, NULL, false, TOKEN);
    expect_token("a=b; session=" TOKEN "; c", NULL, false, TOKEN);
    expect_token("a=b;session=" TOKEN ";", NULL, false, TOKEN);
    expect_token("a=b", "session=" TOKEN, false, TOKEN);
    expect_token("__Host-session=" TOKEN, NULL, true, TOKEN);
}

Test(cookie, has_a_name_of_its_own_with_https)
{
    expect_token("session=" TOKEN, NULL, true, NULL);
    expect_token("__Host-session=" TOKEN, NULL, false, NULL);
    expect_token("session=" OTHER "; __Host-session=" TOKEN, NULL, true, TOKEN);
}

Test(cookie, counts_only_when_there_is_one)
{
    expect_token("session=" TOKEN "; session=" OTHER, NULL, false, NULL);
    expect_token("session=" TOKEN "; session=" TOKEN, NULL, false, NULL);
    expect_token("session=" TOKEN, "session=" OTHER, false, NULL);
}

Test(cookie, is_ignored_if_it_is_not_one_of_our_tokens)
{
    expect_token("", NULL, false, NULL);
    expect_token("session", NULL, false, NULL);
    expect_token("session=", NULL, false, NULL);
    expect_token("session=" TOKEN "A", NULL, false, NULL);
    expect_token("session=\"" TOKEN "\"", NULL, false, NULL);
    expect_token("session=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+/9", NULL, false, NULL);
    expect_token("Session=" TOKEN, NULL, false, NULL);
    expect_token("session =" TOKEN, NULL, false, NULL);
    expect_token("xsession=" TOKEN, NULL, false, NULL);
}

Test(cookie, is_set_for_this_host_and_not_for_scripts)
{
    char text[COOKIE_TEXT];

    cookie_write(STR(TOKEN), false, text);
    cr_assert_str_eq(text, "session=" TOKEN "; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict");
    cookie_write(STR(TOKEN), true, text);
    cr_assert_str_eq(text, "__Host-session=" TOKEN
                           "; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure");
    cookie_write(STR_NONE, true, text);
    cr_assert_str_eq(text, "__Host-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure");
}

/* -- where a request comes from -------------------------------------------------------------- */

#define HOST STR("desk.example:8081")

static void expect_own(const char *origin, bool is_own)
{
    cr_expect_eq(origin_is_own(str_of(origin), false, HOST), is_own, "%s",
                 origin != NULL ? origin : "(none)");
}

Test(origin, is_own_when_it_is_scheme_and_host_of_the_request)
{
    expect_own("http://desk.example:8081", true);
    expect_own("http://DESK.example:8081", true);
    cr_expect(origin_is_own(STR("https://desk.example"), true, STR("desk.example")));
}

Test(origin, is_foreign_when_anything_differs)
{
    static const char *const foreign[] = {
        NULL,
        "",
        "null",
        "http://",
        "http://desk.example",
        "http://desk.example:8080",
        "https://desk.example:8081",
        "http://desk.example:8081/",
        "http://desk.example:8081.evil.example",
        "http://evil.example/desk.example:8081",
        "http://desk.example:8081@evil.example",
        "http://www.desk.example:8081",
        " http://desk.example:8081",
        "http://desk.example:8081 http://evil.example",
        "desk.example:8081",
    };

    for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
        expect_own(foreign[i], false);
    cr_expect_not(origin_is_own(STR("http://"), false, STR("")));
}

Test(origin, is_foreign_when_the_browser_says_so)
{
    cr_expect_not(origin_is_foreign(STR_NONE));
    cr_expect_not(origin_is_foreign(STR("same-origin")));
    cr_expect_not(origin_is_foreign(STR("none")));
    cr_expect(origin_is_foreign(STR("same-site")));
    cr_expect(origin_is_foreign(STR("cross-site")));
    cr_expect(origin_is_foreign(STR("")));
}

/* -- who is signed in ------------------------------------------------------------------------ */

#define ID "01a1fa21-7fb5-72c5-bf9a-5567eac050dd"
#define WITHOUT_CELL(id, email, role, organization)                                                \
    "{\"user\":{\"id\":\"" id "\",\"email\":\"" email "\",\"role\":\"" role                        \
    "\"},\"organization\":{\"id\":\"" organization "\"}"
#define ANSWER(...) WITHOUT_CELL(__VA_ARGS__) ",\"cell\":\"second\"}"

Test(identity, is_read_from_the_reply_of_access)
{
    struct identity who;

    cr_assert(identity_read(STR(ANSWER(ID, "a@b.example", "admin", ID)), &who));
    cr_expect_str_eq(who.email, "a@b.example");
    cr_expect_str_eq(who.user_id, ID);
    cr_expect_str_eq(who.organization_id, ID);
    cr_expect_eq(who.role, ROLE_ADMIN);
    cr_expect_str_eq(who.cell, "second");
    identity_release(&who);
}

Test(identity, is_none_when_anything_is_missing_or_odd)
{
    static const char *const odd[] = {
        "",
        "{}",
        "[]",
        ANSWER("", "a@b.example", "admin", ID),
        ANSWER(ID, "", "admin", ID),
        ANSWER(ID, "a@b.example", "root", ID),
        ANSWER(ID, "a@b.example", "", ID),
        ANSWER(ID, "a@b.example", "admin", ""),
        ANSWER(ID, "a@b\\r\\nX: y", "admin", ID),
        ANSWER("x", "a@b.example", "admin", ID),
        WITHOUT_CELL(ID, "a@b.example", "admin", ID) "}",
    };
    struct identity who;

    for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
        cr_expect_not(identity_read(str_of(odd[i]), &who), "%s", odd[i]);
}

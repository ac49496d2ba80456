#include "services/dashboard/dashboard_session.h"

#include <criterion/criterion.h>
#include <string.h>

#define TOKEN "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-_9"
#define OTHER "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB-_9"

static void expect(const char *first, const char *second, bool is_https, const char *token)
{
    const struct str lines[] = {str_of(first), str_of(second)};
    struct str found = cookie_token(lines, second != NULL ? 2 : 1, is_https);

    cr_expect(str_equal(found, str_of(token)) && (found.p == NULL) == (token == NULL), "%s: %.*s",
              first, (int)found.n, found.p != NULL ? found.p : "");
}

Test(cookie, is_found_among_others)
{
    expect("session=" TOKEN, NULL, false, TOKEN);
    expect("a=b; session=" TOKEN "; c", NULL, false, TOKEN);
    expect("a=b;session=" TOKEN ";", NULL, false, TOKEN);
    expect("a=b", "session=" TOKEN, false, TOKEN);
    expect("__Host-session=" TOKEN, NULL, true, TOKEN);
}

Test(cookie, has_a_name_of_its_own_with_https)
{
    expect("session=" TOKEN, NULL, true, NULL);
    expect("__Host-session=" TOKEN, NULL, false, NULL);
    expect("session=" OTHER "; __Host-session=" TOKEN, NULL, true, TOKEN);
}

Test(cookie, counts_only_when_there_is_one)
{
    expect("session=" TOKEN "; session=" OTHER, NULL, false, NULL);
    expect("session=" TOKEN "; session=" TOKEN, NULL, false, NULL);
    expect("session=" TOKEN, "session=" OTHER, false, NULL);
}

Test(cookie, is_none_when_it_is_no_token_of_ours)
{
    expect("", NULL, false, NULL);
    expect("session", NULL, false, NULL);
    expect("session=", NULL, false, NULL);
    expect("session=" TOKEN "A", NULL, false, NULL);
    expect("session=\"" TOKEN "\"", NULL, false, NULL);
    expect("session=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+/9", NULL, false, NULL);
    expect("Session=" TOKEN, NULL, false, NULL);
    expect("session =" TOKEN, NULL, false, NULL);
    expect("xsession=" TOKEN, NULL, false, NULL);
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

#include "services/dashboard/dashboard_session.h"

#include <criterion/criterion.h>

#define HOST STR("desk.example:8081")

static void expect(const char *origin, bool is_own)
{
    cr_expect_eq(origin_is_own(str_of(origin), false, HOST), is_own, "%s",
                 origin != NULL ? origin : "(none)");
}

Test(origin, is_own_when_it_is_scheme_and_host_of_the_request)
{
    expect("http://desk.example:8081", true);
    expect("http://DESK.example:8081", true);
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
        expect(foreign[i], false);
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

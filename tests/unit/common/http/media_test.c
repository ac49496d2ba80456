#include <criterion/criterion.h>

#include "common/http/media.h"

Test(media, accepts_json_from_any_list_that_includes_it)
{
    static const char *const good[] = {
        "application/json",
        "APPLICATION/JSON",
        "*/*",
        "application/*",
        "",
        "text/html, */*;q=0.1",
        "text/html;level=1 , application/json ; q=0.5",
        "application/json;charset=utf-8",
        "application/json;q=0.001",
        "application/json;q=1",
        "application/*;q=0, application/json",
        "application/json, application/json;q=0",
        ",,",
    };

    cr_expect(media_accepts_json(NULL, 0));
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct str value = str_of(good[i]);
        cr_expect(media_accepts_json(&value, 1), "%s", good[i]);
    }
}

Test(media, refuses_lists_without_json_or_that_rule_it_out)
{
    static const char *const bad[] = {
        "text/html",
        "application/xml",
        "application/json;q=0",
        "application/json;q=0.000",
        "*/*;q=0",
        "application/json;q=0, */*",
        "*/*, application/*;q=0.0",
        "json",
        "application",
        "application/json-patch",
        "text/*",
        "*",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct str value = str_of(bad[i]);
        cr_expect_not(media_accepts_json(&value, 1), "%s", bad[i]);
    }
}

Test(media, reads_several_accept_headers_as_one_list)
{
    const struct str good[] = {STR("text/html"), STR("application/json")};
    const struct str bad[] = {STR("*/*"), STR("application/json;q=0")};

    cr_expect(media_accepts_json(good, 2));
    cr_expect_not(media_accepts_json(bad, 2));
}

Test(media, takes_json_content_with_any_parameters_and_nothing_else)
{
    cr_expect(media_is_json(STR("application/json")));
    cr_expect(media_is_json(STR("Application/JSON; charset=utf-8")));
    cr_expect(media_is_json(STR(" application/json ;x=y")));
    cr_expect_not(media_is_json(STR_NONE));
    cr_expect_not(media_is_json(STR("")));
    cr_expect_not(media_is_json(STR("text/plain")));
    cr_expect_not(media_is_json(STR("application/jsonx")));
    cr_expect_not(media_is_json(STR("application/json, text/plain")));
    cr_expect_not(media_is_json(STR("application/json text")));
    cr_expect_not(media_is_json(STR("*/*")));
}

#include "services/dashboard/dashboard_request.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(endpoints, are_shown_only_up_to_the_host)
{
    static const struct {
        const char *given, *shown;
    } rows[] = {
        {"[]", "[]"},
        {"[{\"id\":1,\"url\":\"https://a.example:8443/hook?token=x#y\"}]",
         "[{\"id\":1,\"url\":\"https://a.example:8443/…\"}]"},
        {"[{\"url\":\"https://a.example?x\"},{\"url\":\"http://b.example\"}]",
         "[{\"url\":\"https://a.example/…\"},{\"url\":\"http://b.example/…\"}]"},
        {"[{\"url\":\"token\"}]", "[{\"url\":\"/…\"}]"},
        {"[{\"url\":null}]", "[{\"url\":\"/…\"}]"},
        {"[{}]", "[{\"url\":\"/…\"}]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char *shown = endpoints_without_paths(str_of(rows[i].given));

        cr_assert_not_null(shown, "%s", rows[i].given);
        cr_expect_str_eq(shown, rows[i].shown);
        free(shown);
    }
}

Test(endpoints, are_not_shown_at_all_unless_they_are_a_list_of_objects)
{
    static const char *const odd[] = {
        "",
        "[",
        "null",
        "\"https://a.example/secret\"",
        "{\"url\":\"https://a.example/secret\"}",
        "[1]",
        "[null]",
        "[{},\"https://a.example/secret\"]",
    };

    for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
        cr_expect_null(endpoints_without_paths(str_of(odd[i])), "%s", odd[i]);
}

enum { ARENA_MAX = 256 * 1024 }; /* as in edge_request_begin() */

Test(dashboard_request, of_a_long_export_may_check_its_session_any_number_of_times)
{
    struct dashboard_request request = {.token = STR_NONE};

    memset(request.token_hash, 'a', sizeof(request.token_hash) - 1);
    arena_init(&request.http.arena, ARENA_MAX);
    for (int step = 0; step < 3000; step++) {
        struct str body = dashboard_token_body(&request);

        cr_assert(str_starts(body, STR("{\"token_hash\":\"aaaa")));
        cr_assert_eq(body.n, sizeof("{\"token_hash\":\"\"}") - 1 + sizeof(request.token_hash) - 1);
    }
    arena_release(&request.http.arena);
}

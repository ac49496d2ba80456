#include "services/dashboard/backend.h"

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

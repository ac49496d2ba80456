#include "services/dashboard/backend.h"

#include <criterion/criterion.h>
#include <string.h>

static bool fits(const char *path, const char *pattern, const char *id)
{
    struct str found;

    return path_matches(str_of(path), pattern, &found) && str_equal(found, str_of(id));
}

Test(path, fits_byte_by_byte)
{
    cr_expect(fits("/data/keys", "/data/keys", NULL));
    cr_expect(fits("/data/keys/a-B_9", "/data/keys/*", "a-B_9"));
    cr_expect(fits("/data/keys/a/revoke", "/data/keys/*/revoke", "a"));
    cr_expect_not(fits("/data/keys/", "/data/keys", NULL));
    cr_expect_not(fits("/data/Keys", "/data/keys", NULL));
    cr_expect_not(fits("/data/%6beys", "/data/keys", NULL));
    cr_expect_not(fits("//data/keys", "/data/keys", NULL));
}

Test(path, takes_nothing_but_an_id_for_a_star)
{
    static const char *const others[] = {"/k/",       "/k/a/",   "/k/..",      "/k/a%20",
                                         "/k/a b",    "/k/a;b",  "/k/a.b",     "/k/a/b",
                                         "/k/%2e%2e", "/k/a\\b", "/k/\xc3\xa9"};
    char longest[8 + PATH_ID_MAX + 1] = "/k/";

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct str id;

        cr_expect_not(path_matches(str_of(others[i]), "/k/*", &id), "%s", others[i]);
    }
    memset(longest + 3, 'a', PATH_ID_MAX);
    cr_expect(fits(longest, "/k/*", longest + 3));
    longest[3 + PATH_ID_MAX] = 'a';
    cr_expect_not(fits(longest, "/k/*", longest + 3));
}

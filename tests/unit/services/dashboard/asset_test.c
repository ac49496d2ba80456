#include "services/dashboard/asset.h"

#include <criterion/criterion.h>
#include <endian.h>
#include <string.h>

static const char *found(const char *path)
{
    const struct asset *asset = asset_find(str_of(path));

    return asset != NULL ? asset->path : NULL;
}

Test(asset, shell_answers_the_paths_of_pages)
{
    static const char *const pages[] = {"/",       "/sign-in",  "/inbox/01a1fa21-7fb5-72c5",
                                        "/keys",   "/webhooks", "/audit/changes",
                                        "/members"};

    for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
        cr_expect_str_eq(found(pages[i]), "", "%s", pages[i]);
    cr_expect(strncmp(assets[0].type, "text/html", 9) == 0);
}

Test(asset, is_found_by_one_spelling_only)
{
    static const char *const nothing[] = {"",
                                          "/index.html",
                                          "/assets/index.html",
                                          "/assets",
                                          "/assets/",
                                          "/assets/js",
                                          "/assets/js/../js/main.js",
                                          "/assets//js/main.js",
                                          "/assets/js/main.js/",
                                          "/assets/js%2fmain.js",
                                          "/ASSETS/js/main.js",
                                          "/sign-in/",
                                          "//sign-in",
                                          "/inbox/a/b",
                                          "/../etc/passwd"};

    cr_expect_str_eq(found("/assets/js/main.js"), "/assets/js/main.js");
    cr_expect_str_eq(found("/openapi.json"), "/openapi.json");
    for (size_t i = 0; i < ARRAY_SIZE(nothing); i++)
        cr_expect_null(found(nothing[i]), "%s", nothing[i]);
}

/* A gzip file begins with two magic bytes and ends with the length of its contents. */
Test(asset, is_stored_packed_too)
{
    for (size_t i = 0; i < n_assets; i++) {
        const struct asset *asset = &assets[i];
        const struct str *packed = &asset->packed.bytes;
        uint32_t length;

        cr_assert(packed->n > 18 && memcmp(packed->p, "\x1f\x8b", 2) == 0, "%s", asset->path);
        memcpy(&length, packed->p + packed->n - 4, 4);
        cr_expect_eq(le32toh(length), asset->plain.bytes.n, "%s", asset->path);
        cr_expect_str_neq(asset->plain.etag, asset->packed.etag);
    }
}

Test(asset, is_known_by_its_tag)
{
    const struct asset_form form = {.etag = "\"abc\""};

    cr_expect(asset_is_known(&form, STR("\"abc\"")));
    cr_expect(asset_is_known(&form, STR("\"x\", W/\"abc\"")));
    cr_expect(asset_is_known(&form, STR("*")));
    cr_expect_not(asset_is_known(&form, STR_NONE));
    cr_expect_not(asset_is_known(&form, STR("")));
    cr_expect_not(asset_is_known(&form, STR("abc")));
    cr_expect_not(asset_is_known(&form, STR("\"abcd\"")));
}

Test(asset, is_compressed_for_clients_that_accept_it)
{
    cr_expect(asset_may_be_packed(STR("gzip")));
    cr_expect(asset_may_be_packed(STR("br, GZIP;q=0.5")));
    cr_expect_not(asset_may_be_packed(STR_NONE));
    cr_expect_not(asset_may_be_packed(STR("br, identity")));
    cr_expect_not(asset_may_be_packed(STR("gzip;q=0")));
    cr_expect_not(asset_may_be_packed(STR("gzip; q=0.000")));
    cr_expect(asset_may_be_packed(STR("gzip;q=0.001")));
}

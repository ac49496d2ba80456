#include "services/dashboard/asset.h"

#include "common/base/ascii.h"
#include "services/dashboard/action.h"

/* A star is an id. */
static const char *const pages[] = {
    "/",           "/sign-in",   "/invitation", "/overview", "/inbox",         "/inbox/*",
    "/keys",       "/reference", "/security",   "/audit",    "/audit/changes", "/webhooks",
    "/webhooks/*", "/members",   "/account",
};

static bool is_page(struct str path)
{
    struct str id;

    for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
        if (path_matches(path, pages[i], &id))
            return true;
    return false;
}

const struct asset *asset_find(struct str path)
{
    if (is_page(path))
        return &assets[0];
    for (size_t i = 1; i < n_assets; i++)
        if (str_equal(path, str_of(assets[i].path)))
            return &assets[i];
    return NULL;
}

bool asset_is_known(const struct asset_form *form, struct str if_none_match)
{
    struct str rest = if_none_match;

    while (rest.p != NULL) {
        struct str tag = str_trim_ows(str_cut(&rest, ','));

        /* A weak comparison (RFC 9110, 13.1.2). */
        if (str_starts(tag, STR("W/")))
            tag = str_skip(tag, 2);
        if (str_equal(tag, STR("*")) || str_equal(tag, str_of(form->etag)))
            return true;
    }
    return false;
}

static bool is_refused(struct str parameters)
{
    struct str weight = str_trim_ows(parameters);

    if (!str_starts(weight, STR("q=0")))
        return false;
    for (size_t i = 3; i < weight.n; i++)
        if (weight.p[i] != '0' && weight.p[i] != '.')
            return false;
    return true;
}

bool asset_may_be_packed(struct str accept_encoding)
{
    struct str rest = accept_encoding;

    while (rest.p != NULL) {
        struct str parameters = str_cut(&rest, ',');

        if (str_equal_nocase(str_trim_ows(str_cut(&parameters, ';')), STR("gzip")))
            return !is_refused(parameters);
    }
    return false;
}

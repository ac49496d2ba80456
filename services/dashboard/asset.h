/*
 * asset - the files that browsers load, embedded in the program by tools/embed-assets.
 *
 * Threads  Any; constant.
 */
#ifndef SERVICES_DASHBOARD_ASSET_H
#define SERVICES_DASHBOARD_ASSET_H

#include <stdbool.h>

#include "common/base/str.h"

struct asset_form {
    struct str bytes;
    const char *etag; /* with its quotes */
};

struct asset {
    const char *path; /* "" is the HTML shell of every page */
    const char *type;
    struct asset_form plain, packed; /* packed: gzip */
};

/* Sorted by path. */
extern const struct asset assets[];
extern const size_t n_assets;

/* The asset at a path, or the shell if it is the path of a page. Compares bytes, so each path has
   exactly one spelling. NULL: there is nothing at the path. */
const struct asset *asset_find(struct str path);

/* Whether an If-None-Match matches the form that would be sent. */
bool asset_is_known(const struct asset_form *form, struct str if_none_match);

/* Whether an Accept-Encoding allows gzip. */
bool asset_may_be_packed(struct str accept_encoding);

#endif

/*
 * asset - the files that browsers load, inside the program; tools/embed-assets puts them there.
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
    const char *path; /* "" is the shell of all pages */
    const char *type;
    struct asset_form plain, packed; /* packed: gzip */
};

/* Sorted by path. */
extern const struct asset assets[];
extern const size_t n_assets;

/* What a path leads to: an asset, or the shell if it is that of a page. Compares bytes, so there is
   one spelling of each. NULL: nothing is there. */
const struct asset *asset_find(struct str path);

/* Whether an If-None-Match names the form that would be sent. */
bool asset_is_known(const struct asset_form *form, struct str if_none_match);

/* Whether an Accept-Encoding takes gzip. */
bool asset_may_be_packed(struct str accept_encoding);

#endif

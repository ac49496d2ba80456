/*
 * origin - whether a request comes from the dashboard's own pages.
 *
 * Threads  Any; pure.
 */
#ifndef DASHBOARD_ORIGIN_H
#define DASHBOARD_ORIGIN_H

#include <stdbool.h>

#include "common/base/str.h"

/* Whether an Origin is scheme and host of the request itself. `null` never is. */
bool origin_is_own(struct str origin, bool is_https, struct str host);

/* Whether a Sec-Fetch-Site, STR_NONE if there is none, speaks against it: a browser says itself
   that another site is behind the request. */
bool origin_is_foreign(struct str fetch_site);

#endif

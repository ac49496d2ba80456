#include "services/dashboard/origin.h"

bool origin_is_own(struct str origin, bool is_https, struct str host)
{
    struct str scheme = is_https ? STR("https://") : STR("http://");

    return host.n > 0 && str_starts(origin, scheme) &&
           str_equal_nocase(str_skip(origin, scheme.n), host);
}

bool origin_is_foreign(struct str fetch_site)
{
    return fetch_site.p != NULL && !str_equal(fetch_site, STR("same-origin")) &&
           !str_equal(fetch_site, STR("none"));
}

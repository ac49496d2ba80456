#include "services/dashboard/endpoints.h"

#include <string.h>

#include "common/json/json.h"

static json_t *host_alone(struct str url)
{
    const char *host = url.n > 0 ? memmem(url.p, url.n, "://", 3) : NULL;
    size_t n = 0;

    if (host != NULL) {
        n = (size_t)(host - url.p) + 3;
        while (n < url.n && strchr("/?#", url.p[n]) == NULL)
            n++;
    }
    return json_sprintf("%.*s/…", (int)n, url.p != NULL ? url.p : "");
}

static bool hide_paths(json_t *endpoints)
{
    json_t *one;
    size_t i;

    if (!json_is_array(endpoints))
        return false;
    json_array_foreach(
        endpoints, i,
        one) if (json_object_set_new(one, "url", host_alone(json_member_text(one, "url"))) !=
                 0) return false; /* it is no object */
    return true;
}

char *endpoints_without_paths(struct str list)
{
    char *text = NULL;
    json_t *endpoints;

    if (!json_read(list, &endpoints, NULL))
        return NULL;
    if (hide_paths(endpoints))
        text = json_dumps(endpoints, JSON_COMPACT);
    json_free(endpoints);
    return text;
}

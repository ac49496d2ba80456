#include "services/dashboard/path.h"

#include <string.h>

static bool is_of_id(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_';
}

bool path_matches(struct str path, const char *pattern, struct str *id)
{
    const char *star = strchr(pattern, '*');
    struct str rest;
    size_t n = 0;

    *id = STR_NONE;
    if (star == NULL)
        return str_equal(path, str_of(pattern));
    if (!str_starts(path, (struct str){pattern, (size_t)(star - pattern)}))
        return false;
    rest = str_skip(path, (size_t)(star - pattern));
    while (n < rest.n && is_of_id(rest.p[n]))
        n++;
    if (n == 0 || n > PATH_ID_MAX || !str_equal(str_skip(rest, n), str_of(star + 1)))
        return false;
    *id = (struct str){rest.p, n};
    return true;
}

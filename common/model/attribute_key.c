#include "common/model/attribute_key.h"

#include <stdbool.h>

#include "common/base/ascii.h"

static bool has_key_characters(struct str key)
{
    if (key.n == 0 || !ascii_is_letter(key.p[0]))
        return false;
    for (size_t i = 1; i < key.n; i++) {
        const char c = key.p[i];

        if (!ascii_is_alphanumeric(c) && c != '_' && c != '-' && c != '.')
            return false;
    }
    return true;
}

static bool is_reserved(struct str key)
{
    const struct str prefix = STR("service_");

    return key.n >= prefix.n && str_equal_nocase((struct str){key.p, prefix.n}, prefix);
}

const char *attribute_key_error(struct str key)
{
    if (!has_key_characters(key))
        return "must begin with a letter and consist of letters, digits, '_', '-' and '.'";
    if (key.n > ATTRIBUTE_KEY_MAX)
        return "must be a key of at most 64 characters";
    if (is_reserved(key))
        return "must not use the reserved prefix service_";
    return NULL;
}

#include "services/gateway/count.h"

bool count_read(const json_t *object, const char *name, uint32_t *out)
{
    const json_t *value = json_object_get(object, name);

    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > INT32_MAX)
        return false;
    *out = (uint32_t)json_integer_value(value);
    return true;
}

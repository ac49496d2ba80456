#include "common/base/cell.h"

#include <string.h>

#include "common/base/ascii.h"

bool cell_is_name(struct str text)
{
    if (text.n == 0 || text.n > CELL_NAME_MAX || !ascii_is_lower(text.p[0]))
        return false;
    for (size_t i = 1; i < text.n; i++)
        if (!ascii_is_lower(text.p[i]) && !ascii_is_digit(text.p[i]))
            return false;
    return true;
}

bool cell_is_main(const char *name)
{
    return name == NULL || strcmp(name, CELL_MAIN) == 0;
}

bool cell_read(struct str text, char out[CELL_CAPACITY])
{
    if (!cell_is_name(text))
        return false;
    memcpy(out, text.p, text.n);
    out[text.n] = '\0';
    return true;
}

bool cell_is_listed(struct str list, struct str name)
{
    while (list.n > 0)
        if (str_equal(str_cut(&list, ','), name))
            return true;
    return false;
}

bool cell_list_is_sound(struct str list)
{
    if (list.n == 0 || list.p[list.n - 1] == ',')
        return false;
    while (list.n > 0) {
        const struct str name = str_cut(&list, ',');

        if (!cell_is_name(name) || cell_is_listed(list, name))
            return false;
    }
    return true;
}

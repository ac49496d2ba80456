#include "services/search/array.h"

void array_init(struct buf *array, struct arena *arena)
{
    buf_init(array, arena, 16);
    buf_char(array, '{');
}

static void separate(struct buf *array)
{
    if (array->n > 1)
        buf_char(array, ',');
}

void array_add(struct buf *array, struct str element)
{
    separate(array);
    buf_char(array, '"');
    for (size_t i = 0; i < element.n; i++) {
        if (element.p[i] == '"' || element.p[i] == '\\')
            buf_char(array, '\\');
        buf_char(array, element.p[i]);
    }
    buf_char(array, '"');
}

void array_add_int(struct buf *array, int64_t element)
{
    separate(array);
    buf_int(array, element);
}

struct str array_close(struct buf *array)
{
    buf_char(array, '}');
    return buf_str(array);
}

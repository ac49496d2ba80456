#include "common/db/array.h"

void array_open(struct buf *array, struct arena *arena, size_t room)
{
    buf_init(array, arena, room);
    buf_char(array, '{');
}

static void separate(struct buf *array)
{
    if (array->n > 1)
        buf_char(array, ',');
}

/* In quotes; inside them two characters need a backslash. */
void array_add(struct buf *array, struct str text)
{
    size_t start = 0; /* of the run of bytes that need no backslash */

    separate(array);
    if (text.p == NULL) {
        buf_add(array, STR("NULL"));
        return;
    }
    buf_char(array, '"');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '"' && text.p[i] != '\\')
            continue;
        buf_add(array, (struct str){text.p + start, i - start});
        buf_char(array, '\\');
        start = i;
    }
    buf_add(array, (struct str){text.p + start, text.n - start});
    buf_char(array, '"');
}

void array_add_plain(struct buf *array, struct str text)
{
    separate(array);
    buf_add(array, text);
}

void array_add_int(struct buf *array, int64_t number)
{
    separate(array);
    buf_int(array, number);
}

void array_add_id(struct buf *array, const struct uuid *id)
{
    char text[UUID_TEXT + 1];

    uuid_format(id, text);
    array_add_plain(array, (struct str){text, UUID_TEXT});
}

struct str array_close(struct buf *array)
{
    buf_char(array, '}');
    return buf_str(array);
}

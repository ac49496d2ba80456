#include "services/conversation/columns.h"

void column_open(struct buf *column, struct arena *arena, size_t n_values)
{
    buf_init(column, arena, 2 + n_values * 40);
    buf_char(column, '{');
}

/* Everything but NULL goes in quotes; inside them two characters need a backslash. */
void column_add(struct buf *column, struct str value)
{
    size_t start = 0; /* of the run of bytes that need no backslash */

    if (column->n > 1)
        buf_char(column, ',');
    if (value.p == NULL) {
        buf_add(column, STR("NULL"));
        return;
    }
    buf_char(column, '"');
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] != '"' && value.p[i] != '\\')
            continue;
        buf_add(column, (struct str){value.p + start, i - start});
        buf_char(column, '\\');
        start = i;
    }
    buf_add(column, (struct str){value.p + start, value.n - start});
    buf_char(column, '"');
}

struct str column_close(struct buf *column)
{
    buf_char(column, '}');
    return buf_str(column);
}

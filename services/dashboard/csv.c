#include "services/dashboard/csv.h"

#include <string.h>

static bool is_formula(struct str text)
{
    size_t i = 0;

    while (i < text.n && text.p[i] == ' ')
        i++;
    return i < text.n && text.p[i] != '\0' && strchr("=+-@\t\r\n", text.p[i]) != NULL;
}

void csv_add_cell(struct buf *out, struct str text)
{
    if (out->n > 0 && out->p[out->n - 1] != '\n')
        buf_char(out, ',');
    buf_char(out, '"');
    if (is_formula(text))
        buf_char(out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"')
            buf_char(out, '"');
        buf_char(out, text.p[i]);
    }
    buf_char(out, '"');
}

void csv_end_row(struct buf *out)
{
    buf_add(out, STR("\r\n"));
}

#include "services/audit/listing.h"

#include "audit_sql.h"
#include "services/audit/audit.h"

/* Looking at this many costs as much as one get. */
enum { ENTRIES_A_UNIT = 25 };

uint32_t listing_cost(const struct db_rows *rows, const struct looking_columns *columns)
{
    const size_t found = db_rows_count(rows);
    const int64_t looked_at = found > 0 ? db_value_int(rows, found - 1, columns->looked_at) : 0;

    return 1 + (uint32_t)(looked_at / ENTRIES_A_UNIT);
}

bool listing_has_more(const struct db_rows *rows, size_t n, const struct looking_columns *columns)
{
    const size_t found = db_rows_count(rows);

    if (found == 0)
        return false;
    return db_value_bool(rows, found - 1, columns->is_limit) || found > n + 1 ||
           (found > n && db_value_bool(rows, found - 1, columns->is_match));
}

_Static_assert(LIST_ENTRIES_ENTRY == 0 && LIST_ENTRIES_FORWARD_ENTRY == 0,
               "entry_write() and place_of() expect the entry columns first");

struct page_place entry_place(const struct db_rows *rows, size_t row)
{
    struct page_place place = {.us = db_value_int(rows, row, ENTRY_CREATED_US)};

    (void)uuid_parse(db_value(rows, row, ENTRY_REQUEST_ID), &place.id);
    return place;
}

void entries_write(struct buf *out, const struct db_rows *rows, size_t n)
{
    buf_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_char(out, ',');
        entry_write(rows, i, out);
    }
    buf_char(out, ']');
}

/*
 * listing - what the pages of the audit log, those of the log of changes and the steps of an export
 *           have in common.
 *
 * What     A page looks at LOOKED_AT_MAX rows: if a filter seldom matches, it may have fewer than it was
 *          asked for, or none, and still a cursor for the next page.
 * Threads  Any; nothing is kept.
 */
#ifndef SERVICES_AUDIT_LISTING_H
#define SERVICES_AUDIT_LISTING_H

#include "common/base/buf.h"
#include "common/db/db.h"
#include "services/audit/audit_query.h"

enum { LOOKED_AT_MAX = 1000 };

/* The columns that tell how the rows of a page were found. */
struct looking_columns {
    int is_match, is_limit, looked_at;
};

/* A command's cost, after that many rows were looked at. */
uint32_t listing_cost(const struct db_rows *rows, const struct looking_columns *columns);
/* Whether more follow the first `n` rows: rows that were read, or rows that were not looked at. The
   last row that was read counts only if it matches. */
bool listing_has_more(const struct db_rows *rows, size_t n, const struct looking_columns *columns);

/* Of an entry, whose columns come first. */
struct page_place entry_place(const struct db_rows *rows, size_t row);
/* The first `n` entries, as an array. */
void entries_write(struct buf *out, const struct db_rows *rows, size_t n);

#endif

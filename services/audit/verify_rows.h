/*
 * verify_rows - from rows of the database to what verify.h judges.
 *
 * Owns     Everything lives in the arena.
 * Threads  The actor's.
 */
#ifndef SERVICES_AUDIT_VERIFY_ROWS_H
#define SERVICES_AUDIT_VERIFY_ROWS_H

#include "common/db/db.h"
#include "services/audit/verify.h"

/* A row of list_blocks.sql, but for its organization and its entries. False: no block of ours
   looks like that. */
bool verify_read_block(const struct db_rows *rows, size_t row, struct arena *arena,
                       struct verify_block *out);
/* The rows of list_block_entries.sql from *row that belong to the block: *row moves behind them. */
const struct verify_entry *verify_read_entries(const struct db_rows *rows, size_t *row,
                                               int64_t block, size_t n, struct arena *arena);
/* A row of list_covered_entries.sql, but for its organization. */
struct verify_covered verify_read_covered(const struct db_rows *rows, size_t row);
/* The row of read_place.sql. */
struct verify_seal verify_read_seal(const struct db_rows *rows);

#endif

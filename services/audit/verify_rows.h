/*
 * verify_rows - from rows of the database to what verify.h checks.
 *
 * Owns     Everything lives in the arena.
 * Threads  The db's.
 * Fails    False, if we cannot have written a row.
 */
#ifndef SERVICES_AUDIT_VERIFY_ROWS_H
#define SERVICES_AUDIT_VERIFY_ROWS_H

#include "common/db/db.h"
#include "services/audit/verify.h"

/* The columns of a statement that reads whole blocks. */
enum verify_block_column {
    VERIFY_NUMBER,
    VERIFY_PREVIOUS_HASH,
    VERIFY_ENTRIES,
    VERIFY_LAST_XID,
    VERIFY_LAST_REQUEST_ID,
    VERIFY_MADE_XID,
    VERIFY_MADE_US,
    VERIFY_KEY_ID,
    VERIFY_BLOCK_HASH,
    VERIFY_SIGNATURE,
    VERIFY_REQUEST_IDS,
    VERIFY_ENTRY_HASHES,
    VERIFY_IMPLAUSIBLE_PLACES,
    VERIFY_IMPLAUSIBLE_US,
    VERIFY_BLOCK_COLUMNS
};

/* But for its organization, its entries, and what is known of its hash. */
MUST_CHECK bool verify_read_block(const struct db_rows *rows, size_t row, struct arena *arena,
                                  struct verify_block *out);
/* The hash that stands behind a row of list_blocks.sql, if there is one; malformed ones are none
   that a block can have. */
const uint8_t *verify_read_published(const struct db_rows *rows, size_t row, struct arena *arena);
/* The rows of list_block_entries.sql from *row that belong to the block: *row moves behind them. */
const struct verify_entry *verify_read_entries(const struct db_rows *rows, size_t *row,
                                               int64_t block, size_t n, struct arena *arena);
/* A row of list_covered_entries.sql, but for its organization. */
struct verify_covered verify_read_covered(const struct db_rows *rows, size_t row);

#endif

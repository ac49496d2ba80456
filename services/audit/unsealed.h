/*
 * unsealed - reads the entries that wait for their seal.
 *
 * What     An entry is hashed as the texts that the database would write. The rows are binary,
 *          since each entry of the audit log is read here once.
 * Owns     Nothing: everything lives in the arena.
 * Threads  The db's.
 */
#ifndef SERVICES_AUDIT_UNSEALED_H
#define SERVICES_AUDIT_UNSEALED_H

#include "common/db/db.h"
#include "services/audit/chain.h"

/* Queues list_unsealed.sql: at most `max` entries after a place and below the transaction
   `horizon`. */
size_t unsealed_ask(struct db *db, const struct block_place *place, struct str horizon, size_t max,
                    struct arena *arena);
/* False: the entry cannot be sealed; its place is read as far as possible. */
MUST_CHECK bool unsealed_read(const struct db_rows *rows, size_t row, struct arena *arena,
                              struct block_entry *out);

#endif

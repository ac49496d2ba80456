/*
 * ends_heads - finds where chains end: the last block of each that is ours.
 *
 * What     A chain that ends with foreign blocks continues after our last block.
 * Owns     Nothing: everything lives in the arena.
 * Threads  The db's.
 * Fails    As db_run() does.
 */
#ifndef SERVICES_AUDIT_ENDS_HEADS_H
#define SERVICES_AUDIT_ENDS_HEADS_H

#include "services/audit/ends.h"

/* A cache of heads that need not be checked again, by organization. */
#define ENDS_KNOWN 1024
struct ends_known {
    struct block_head at[ENDS_KNOWN];
};
void ends_know(struct ends_known *known, const struct block_head *head);

/* Reads the rows of read_heads.sql as what the next blocks follow, in the same order. A chain that
   ends with foreign blocks continues after our last block, or starts again if none is near. If a
   head has an unknown key, *foreign says so, and the heads must not be used. */
MUST_CHECK enum status ends_find_heads(struct db *db, const struct db_rows *rows,
                                       const struct audit_keys *keys, struct ends_known *known,
                                       struct arena *arena, struct block_head **out, size_t *n,
                                       struct ends_foreign *foreign);

/* Finds the last block of a chain that is not foreign: *rows is its row of read_head.sql, and *kind
   is ENDS_OURS or ENDS_UNKNOWN. If none is near, *rows is NULL and *kind ENDS_FOREIGN. *left: how
   many foreign blocks to look back over. */
MUST_CHECK enum status ends_find_own(struct db *db, const struct uuid *organization_id,
                                     const struct audit_keys *keys, size_t *left,
                                     struct arena *arena, const struct db_rows **rows,
                                     enum ends_kind *kind, struct ends_foreign *foreign);

#endif

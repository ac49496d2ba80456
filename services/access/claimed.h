/*
 * claimed - changes of one cell that this process has claimed from the outbox, as one message.
 *
 * Owns     Everything lives in the arena.
 * Threads  The outbox's (outbox.h).
 * Fails    As db_commit() does. Claimed changes that are neither cleared nor postponed are due
 *          again when the claim has expired.
 */
#ifndef SERVICES_ACCESS_CLAIMED_H
#define SERVICES_ACCESS_CLAIMED_H

#include "common/base/cell.h"
#include "common/db/db.h"

#define CLAIMED_MAX 100 /* changes in one message */

struct claimed {
    size_t n;
    struct str organizations, ids; /* of all changes, in PostgreSQL's array syntax */
    struct str first;              /* the first change's id, for the log */
    struct str message;            /* the body of v1.audit.record; STR_NONE without changes */
};

/* Finds a cell with changes that are due, other than those of `except`, in PostgreSQL's array
   syntax. */
MUST_CHECK enum status claimed_choose_cell(struct db *db, struct str except,
                                           char cell[CELL_CAPACITY], bool *found);
/* Claims up to `most` changes of the cell that are due, in the order of organizations and ids: none
   if other processes have claimed them. */
MUST_CHECK enum status claimed_take(struct db *db, const char *cell, size_t most,
                                    struct arena *arena, struct claimed *out);
/* Deletes them, after the log has taken them. */
MUST_CHECK enum status claimed_clear(const struct claimed *claimed, struct db *db);
/* Makes them due again in `ms`. `refusal`: the outcome with which they were refused; STR_NONE: they
   were not. */
MUST_CHECK enum status claimed_postpone(const struct claimed *claimed, int64_t ms,
                                        struct str refusal, struct db *db, struct arena *arena);

#endif

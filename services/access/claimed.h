/*
 * claimed - changes that this process has taken from the outbox for a while, as one message, and what
 * becomes of them.
 *
 * Owns     Everything lives in the arena.
 * Threads  That of the outbox (outbox.h).
 * Fails    As db_commit(). What is claimed and neither cleared nor postponed is due again when the claim
 *          has run out.
 */
#ifndef SERVICES_ACCESS_CLAIMED_H
#define SERVICES_ACCESS_CLAIMED_H

#include "common/base/cell.h"
#include "common/db/db.h"

#define CLAIMED_MAX 100 /* changes in one message */

struct claimed {
    size_t n;
    struct str organizations, ids; /* of all of them, as arrays of PostgreSQL */
    struct str first;              /* the first one's id, for the log */
    struct str message;            /* the body of v1.audit.record; STR_NONE without any */
    char cell[CELL_CAPACITY];      /* where it goes */
};

/* Those that are due, in the order of organizations and ids, `most` of them at most. */
MUST_CHECK enum status claimed_take(struct db *db, size_t most, struct arena *arena,
                                    struct claimed *out);
/* The log has them: deletes them. */
MUST_CHECK enum status claimed_clear(const struct claimed *claimed, struct db *db);
/* They are due in `ms`. `refusal`: the outcome with which they were refused; STR_NONE: they were not. */
MUST_CHECK enum status claimed_postpone(const struct claimed *claimed, int64_t ms,
                                        struct str refusal, struct db *db, struct arena *arena);

#endif

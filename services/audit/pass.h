/*
 * pass - one step of sealing: the next entries of all organizations become blocks.
 *
 * What     Reads settled entries behind the place that is sealed so far, hashes them, and appends
 *          one block or more to the chain of each organization that has some among them, all in one
 *          transaction. That is what makes the place: the greatest of any block.
 * Owns     Nothing beyond a step: what it needs lives in the arena.
 * Threads  The sealer's.
 */
#ifndef SERVICES_AUDIT_PASS_H
#define SERVICES_AUDIT_PASS_H

#include "common/db/db.h"
#include "services/audit/block.h"

struct pass {
    struct signing_key *key;
    size_t entries_most; /* a step; 0 = 5,000 */
    /* Behind the last entry that was looked at; differs from what is sealed where that entry was
       left out. Zero it whenever the database may be another one. */
    struct block_place seen;

    /* What the last step did. */
    bool was_first; /* to seal: otherwise another process is at it, and nothing was done */
    size_t sealed, blocks;
    size_t implausible;  /* entries that no service can have appended: left out of the chain */
    struct uuid suspect; /* the first of them */
    bool is_behind;      /* there is more to seal at once */
    int64_t oldest_us;   /* created_at of an entry that is not sealed yet, about the oldest; or 0 */
    /* What is sealed lies beyond all transactions: the trail comes from another cluster. */
    bool is_adrift;
};

MUST_CHECK enum status pass_step(struct pass *pass, struct db *db, struct arena *arena);

/* The row of read_place.sql: how far everything is sealed. */
struct block_place pass_read_place(const struct db_rows *rows);

#endif

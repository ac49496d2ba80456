/*
 * seal_step - one step of the sealer: the next entries of all organizations become blocks.
 *
 * What     Reads settled entries behind the place that is sealed so far, hashes them, and appends
 *          one block or more to the chain of each organization that has some among them, all in one
 *          transaction. The new place is then the greatest of any block.
 * Owns     Nothing beyond a step: its data lives in the arena.
 * Threads  The sealer's.
 */
#ifndef SERVICES_AUDIT_SEAL_STEP_H
#define SERVICES_AUDIT_SEAL_STEP_H

#include "services/audit/ends.h"

struct seal_step {
    const struct audit_keys *keys;
    size_t entries_max; /* a step; 0 = 5,000 */
    /* What the steps before have learned; zero it whenever the database may be another one. */
    struct seal_step_memory {
        struct ends_place place;
        struct ends_place since; /* made before the first entry that was sealed last */
        /* Behind the last entry that was looked at; differs from the place where it was left out.
         */
        struct block_place seen;
        struct ends_known heads;
    } memory;

    /* What the last step did. */
    bool was_first; /* to seal: otherwise another process is at it, and nothing was done */
    size_t sealed, blocks;
    size_t implausible;  /* of them, those that no service can have appended so */
    struct uuid suspect; /* the first of them */
    size_t left_out;     /* entries that cannot be sealed, whatever their like; the first is ... */
    struct uuid left;
    struct ends_foreign foreign; /* blocks that were met and are not ours */
    bool is_behind;              /* there is more to seal at once */
    int64_t oldest_us; /* when an entry was made that is not sealed yet, about the oldest; or 0 */
    /* Sealed entries lie beyond all transactions: the audit log comes from another cluster. */
    bool is_adrift;
    /* The newest block, or the last one of a chain that was to go on, is signed with a key that is
       not known here: a replica that knows it seals. */
    bool lacks_key;
    bool is_lost; /* too many foreign blocks lie behind the last one of ours */
};

/* True: nothing can be sealed by this replica for now. */
bool seal_step_has_stopped(const struct seal_step *sealing);

MUST_CHECK enum status seal_step_run(struct seal_step *sealing, struct db *db, struct arena *arena);

#endif

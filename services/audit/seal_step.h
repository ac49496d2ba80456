/*
 * seal_step - one step of the sealer: the next entries of all organizations become blocks.
 *
 * What     Reads settled entries after the place up to which everything is sealed, hashes them,
 *          and appends one or more blocks to the chain of each organization that has entries among
 *          them, all in one transaction. The greatest place of any block is then the new place.
 * Owns     Nothing beyond a step: its data lives in the arena.
 * Threads  The sealer's.
 */
#ifndef SERVICES_AUDIT_SEAL_STEP_H
#define SERVICES_AUDIT_SEAL_STEP_H

#include "services/audit/ends_heads.h"

struct seal_step {
    const struct audit_keys *keys;
    size_t entries_max; /* of a step; 0 = 5,000 */
    /* Results of the steps before; zero it whenever the database may be another one. */
    struct seal_step_memory {
        struct ends_place place;
        /* Of a block made on this server before the first entry of the last step. */
        struct ends_place since;
        /* The last entry that was looked at; beyond `place` if that entry was left out. */
        struct block_place seen;
        struct ends_known heads;
    } memory;

    /* What the last step did. */
    bool was_first; /* got the lock; otherwise another process seals, and nothing was done */
    size_t sealed, blocks;
    size_t implausible;          /* sealed entries that no service can have appended as they are */
    struct uuid suspect;         /* the first of these */
    size_t misdated;             /* likewise, unless a clock was wrong */
    struct uuid dated;           /* the first of these */
    size_t left_out;             /* entries that cannot be sealed */
    struct uuid left;            /* the first of these */
    struct ends_foreign foreign; /* blocks that were met and are not ours */
    bool is_behind;              /* there is more to seal at once */
    /* About when the oldest unsealed entry was made; 0 = there is none, or none was looked for. */
    int64_t oldest_us;
    /* There are sealed entries beyond all transactions: the audit log comes from another server. */
    bool is_adrift;
    /* The newest block, or the last one of a chain to be continued, is signed with an unknown key:
       sealing is left to a replica that has the key. */
    bool lacks_key;
    bool is_lost; /* too many foreign blocks follow the last one of ours */
    /* Our clock minus the database's. Beyond CLOCK_SKEW_MAX_MS nothing is sealed: one of them is wrong, so
       a block would have a wrong time, and genuine entries a mark. */
    int64_t clock_skew_ms;
};

/* True: this replica cannot seal for now. */
bool seal_step_has_stopped(const struct seal_step *sealing);

MUST_CHECK enum status seal_step_run(struct seal_step *sealing, struct db *db, struct arena *arena);

#endif

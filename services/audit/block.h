/*
 * block - makes the next blocks of chains from the entries that one step of sealing has read.
 *
 * Owns     Nothing: everything lives in the arena.
 * Threads  Any; pure.
 */
#ifndef SERVICES_AUDIT_BLOCK_H
#define SERVICES_AUDIT_BLOCK_H

#include "services/audit/chain.h"

/* In the order of sealing, over all organizations. */
struct block_place {
    uint64_t xid;
    struct uuid organization_id, request_id;
};

/* Entries of a block at most. */
#define BLOCK_ENTRIES_MAX 1000

struct block_entry {
    struct block_place place;
    int64_t created_us;
    bool is_implausible; /* gets a mark */
    uint8_t hash[SHA256_BYTES];
};

/* What the next block of a chain follows: entries and hash of its last block, and the greatest
   number that is taken. All zero = none yet. */
struct block_head {
    struct uuid organization_id;
    int64_t number, entries;
    uint8_t hash[SHA256_BYTES];
};

/* Numbers are told in JSON, where they are exact up to there. */
#define BLOCK_NUMBER_MAX (INT64_C(1) << 53)

struct block_stamp {
    uint64_t made_xid;
    int64_t made_us;
    struct str key_id;
};

struct block_made {
    struct chain_block block;
    uint8_t hash[SHA256_BYTES];
};

/* Makes the blocks of entries that are given in the order of sealing; returns how many. `heads`
   are those that exist already, sorted by organization. */
size_t blocks_make(const struct block_entry *entries, size_t n, const struct block_head *heads,
                   size_t n_heads, const struct block_stamp *stamp, struct arena *arena,
                   struct block_made **out);

/* NULL: it has none. */
const struct block_head *block_find_head(const struct uuid *organization_id,
                                         const struct block_head *heads, size_t n);

int block_compare_places(const struct block_place *a, const struct block_place *b);

#endif

/*
 * ends - finds where the seal and the chains end, by blocks with a valid signature.
 *
 * What     A block is foreign if it is malformed or its hash or signature is wrong: the sealer
 *          cannot have written it so, and the block before it counts instead. A block that is whole
 *          but signed with an unknown key decides nothing: another replica may have made it.
 * Owns     Nothing: everything lives in the arena.
 * Threads  The db's.
 * Fails    As db_run() does.
 */
#ifndef SERVICES_AUDIT_ENDS_H
#define SERVICES_AUDIT_ENDS_H

#include "common/db/db.h"
#include "services/audit/chain.h"
#include "services/audit/verify.h"

/* How far everything is sealed: the greatest place of any block. All zero = nothing is. */
struct ends_place {
    struct block_place at;
    uint64_t made_xid; /* of that block: entries of later transactions ... */
    int64_t made_us;   /* ... are not older than this, if ... */
    bool is_here;      /* ... it was made on this server, and did not come from another cell */
};

/* Blocks that were met and do not count: foreign ones, and the first one with an unknown key. */
struct ends_foreign {
    size_t n;
    struct uuid organization_id; /* of the first ... */
    int64_t number;              /* ... and its number */
    bool has_unknown;
    struct uuid unknown_organization_id;
    int64_t unknown_number;
};

enum ends_kind {
    ENDS_OURS,
    ENDS_FOREIGN,
    ENDS_UNKNOWN, /* signed with an unknown key */
};

/* Reads the row of read_place.sql. Without a block: ENDS_OURS, and a place that is all zero. */
enum ends_kind ends_read_place(const struct db_rows *rows, const struct audit_keys *keys,
                               struct arena *arena, struct ends_place *out);

/* Queues read_place.sql: for the greatest settled block or, if `below` is not NULL, for the
   greatest one below that row, which is foreign. */
size_t ends_ask_place(struct db *db, const struct db_rows *below);

/* How to search for the place. */
struct ends_search {
    const struct audit_keys *keys;
    struct ends_place known; /* the search goes no further back than this */
    bool passes_unknown;     /* continues below a block with an unknown key */
    size_t max;              /* how many blocks to look back over */
};

enum ends_found {
    ENDS_FOUND,
    ENDS_LACKS_KEY, /* a block with an unknown key comes first */
    ENDS_TOO_FAR,   /* none of ours among the last `max` */
};

/* Finds the place: the row of read_place.sql or, if that is foreign, a block below it. */
MUST_CHECK enum status ends_find_place(struct db *db, const struct db_rows *rows,
                                       const struct ends_search *search, struct arena *arena,
                                       struct ends_place *out, enum ends_found *found,
                                       struct ends_foreign *foreign);

/* Finds the greatest place of any block, settled or not, from `xid` on; all zero = none. */
MUST_CHECK enum status ends_look_ahead(struct db *db, const struct audit_keys *keys, uint64_t xid,
                                       struct arena *arena, struct ends_place *out,
                                       struct ends_foreign *foreign);

/* Sets *known to the last block made on this server before a transaction, if that is among the last
   10,000 settled blocks and later than *known. */
MUST_CHECK enum status ends_find_since(struct db *db, uint64_t made_before,
                                       const struct audit_keys *keys, struct arena *arena,
                                       struct ends_place *known, struct ends_foreign *foreign);

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

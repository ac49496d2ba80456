/*
 * ends - where the seal and the chains end, as the tables have it and signatures bear it out.
 *
 * What     A block is foreign when it is malformed, or its hash or signature is wrong: then it was not
 *          the sealer that wrote it so, and the one before it counts. One that is whole, but signed
 *          with a key that is not known, is nothing to go by: another replica may have made it.
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
    uint64_t made_xid; /* of that block: what later transactions wrote ... */
    int64_t made_us;   /* ... is not older than this */
};

/* Blocks that were met and do not count: foreign ones, and one that is sound except for its key. */
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
    ENDS_UNKNOWN, /* signed with a key that is not known */
};

/* The row of read_place.sql. Without a block it is ours, and the place is all zero. */
enum ends_kind ends_read_place(const struct db_rows *rows, const struct audit_keys *keys,
                               struct arena *arena, struct ends_place *out);

/* Queues read_place.sql: for the greatest settled block or, if not NULL, below a row that was found
   foreign. */
size_t ends_ask_place(struct db *db, const struct db_rows *below);

/* How the place is looked for. */
struct ends_search {
    const struct audit_keys *keys;
    struct ends_place known; /* no further back than that */
    bool passes_unknown;     /* goes on below a block with an unknown key */
    size_t max;              /* blocks to look back over */
};

enum ends_found {
    ENDS_FOUND,
    ENDS_LACKS_KEY, /* a block with an unknown key comes first */
    ENDS_TOO_FAR,   /* none among so many */
};

/* The place by the row of read_place.sql, or below it where that is foreign. */
MUST_CHECK enum status ends_find_place(struct db *db, const struct db_rows *rows,
                                       const struct ends_search *search, struct arena *arena,
                                       struct ends_place *out, enum ends_found *found,
                                       struct ends_foreign *foreign);

/* The greatest place of all, settled or not, from a transaction on; all zero: there is none. */
MUST_CHECK enum status ends_look_ahead(struct db *db, const struct audit_keys *keys, uint64_t xid,
                                       struct arena *arena, struct ends_place *out,
                                       struct ends_foreign *foreign);

/* The last block made before a transaction, if it is among the last some thousand that are settled
   and behind the one that is known already; *known stays as it is otherwise. */
MUST_CHECK enum status ends_find_since(struct db *db, uint64_t made_before,
                                       const struct audit_keys *keys, struct arena *arena,
                                       struct ends_place *known, struct ends_foreign *foreign);

/* Heads that need not be checked again, by their organizations. */
#define ENDS_KNOWN 1024
struct ends_known {
    struct block_head at[ENDS_KNOWN];
};
void ends_know(struct ends_known *known, const struct block_head *head);

/* The rows of read_heads.sql as what the next blocks follow, sorted as they are. A chain that ends
   with foreign blocks continues after our last block, or starts again where none is near. Where one
   has a key that is not known, that is noted, and nothing is to be made of the heads. */
MUST_CHECK enum status ends_find_heads(struct db *db, const struct db_rows *rows,
                                       const struct audit_keys *keys, struct ends_known *known,
                                       struct arena *arena, struct block_head **out, size_t *n,
                                       struct ends_foreign *foreign);

/* The last block of a chain that is not foreign: a row of read_head.sql, if it is ours; NULL if there
   is none near, or its key is not known, which is noted. *left: foreign blocks to look back over. */
MUST_CHECK enum status ends_find_own(struct db *db, const struct uuid *organization_id,
                                     const struct audit_keys *keys, size_t *left,
                                     struct arena *arena, const struct db_rows **rows,
                                     enum ends_kind *kind, struct ends_foreign *foreign);

#endif

/*
 * ends - tells of one block whether it can be the end of the seal or of a chain: whether it is ours.
 *
 * What     A block is foreign if it is malformed or its hash or signature is wrong: the sealer
 *          cannot have written it so, and the block before it counts instead. A block that is whole
 *          but signed with an unknown key decides nothing: another replica may have made it.
 *          ends_place.h searches for the end of the seal, ends_heads.h for those of the chains.
 * Owns     Nothing: everything lives in the arena.
 * Threads  The db's.
 * Fails    As db_run() does.
 */
#ifndef SERVICES_AUDIT_ENDS_H
#define SERVICES_AUDIT_ENDS_H

#include "common/db/db.h"
#include "services/audit/chain.h"

/* -- what does not count ---------------------------------------------------------------------- */

/* Blocks that were met and do not count: foreign ones, and the first one with an unknown key. */
struct ends_foreign {
    size_t n;
    struct uuid organization_id; /* of the first ... */
    int64_t number;              /* ... and its number */
    bool has_unknown;
    struct uuid unknown_organization_id;
    int64_t unknown_number;
};

void ends_note(struct ends_foreign *foreign, const struct uuid *organization_id, int64_t number);
void ends_note_unknown(struct ends_foreign *foreign, const struct uuid *organization_id,
                       int64_t number);

/* -- one block -------------------------------------------------------------------------------- */

/* How far everything is sealed: the greatest place of any block. All zero = nothing is. */
struct ends_place {
    struct block_place at;
    uint64_t made_xid; /* of that block: entries of later transactions ... */
    int64_t made_us;   /* ... are not older than this, if ... */
    bool is_here;      /* ... it was made on this server, and did not come from another cell */
};

enum ends_kind {
    ENDS_OURS,
    ENDS_FOREIGN,
    ENDS_UNKNOWN, /* signed with an unknown key */
};

/* Reads the row of read_place.sql. Without a block: ENDS_OURS, and a place that is all zero. */
enum ends_kind ends_read_place(const struct db_rows *rows, const struct audit_keys *keys,
                               struct arena *arena, struct ends_place *out);

/* Queues read_place.sql for the greatest block below this one, in the order of sealing, and made
   before a transaction; STR_NONE: no such bound. */
size_t ends_ask_below(struct db *db, struct str xid, struct str organization, struct str number,
                      struct str made_before);

/* Reads the whole block of a head: *whole is its row of read_place.sql. */
MUST_CHECK enum status ends_read_whole(struct db *db, struct str xid, struct str organization,
                                       int64_t number, struct arena *arena,
                                       const struct db_rows **whole);

/* Reads a head, whose columns begin with `first`, and checks its signature. ENDS_UNKNOWN: its key
   is unknown. */
enum ends_kind ends_check_head(const struct db_rows *rows, size_t row, int first,
                               const struct uuid *organization_id, const struct audit_keys *keys,
                               struct arena *arena, struct block_head *out);

#endif

/*
 * ends_place - finds the place up to which everything is sealed: the greatest of any block of ours.
 *
 * What     Goes downwards in the order of sealing, past blocks that do not count (ends.h), by their
 *          heads as far as possible: whole blocks are read only where a head may be ours.
 * Owns     Nothing: everything lives in the arena.
 * Threads  The db's.
 * Fails    As db_run() does.
 */
#ifndef SERVICES_AUDIT_ENDS_PLACE_H
#define SERVICES_AUDIT_ENDS_PLACE_H

#include "services/audit/ends.h"

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

#endif

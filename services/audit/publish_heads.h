/*
 * publish_heads - publishes the heads of chains. An archive of them shows later whether the entries
 * below were rewritten, even by the owner of the database.
 *
 * Threads  The sealer's.
 */
#ifndef SERVICES_AUDIT_PUBLISH_HEADS_H
#define SERVICES_AUDIT_PUBLISH_HEADS_H

#include "common/bus/bus.h"
#include "common/db/db.h"
#include "services/audit/ends.h"

struct head_publisher {
    const struct audit_keys *keys;
    const char *cell; /* whose chains they are; NULL: main */
    /* A round takes several steps; the next one begins after this place. */
    struct block_place behind;

    /* What the last step did. */
    size_t n; /* heads that were published */
    /* Last blocks that are not ours. A round ends at one with an unknown key: the rest is left to a
       replica that has the key. */
    struct ends_foreign foreign;
    size_t left;    /* how many more foreign blocks it may look back over */
    bool is_behind; /* the round is not finished */
};

/* One step: publishes a limited number of heads that have not been published yet. If the record of
   a publication is lost, the head is published again. */
MUST_CHECK enum status publish_heads(struct head_publisher *publisher, struct db *db,
                                     struct bus *bus, struct arena *arena);

#endif

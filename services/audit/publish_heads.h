/*
 * publish_heads - tells the world the heads of chains: an archive of them shows later whether the
 * entries below were rewritten, even by the owner of the database.
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
    /* Behind this place a round goes on, which steps take turns at. */
    struct block_place behind;

    /* What the last step did. */
    size_t n; /* heads that were published */
    /* Blocks in their place that are not ours; behind one with an unknown key the rest is left
       to a replica that knows it. */
    struct ends_foreign foreign;
    size_t left;    /* of them, how many more it may look back over */
    bool is_behind; /* the round goes on */
};

/* A step: publishes heads that have not been yet, a limited number of them. When the note of a
   head's publishing is lost, the head is published again. */
MUST_CHECK enum status publish_heads(struct head_publisher *publisher, struct db *db,
                                     struct bus *bus, struct arena *arena);

#endif

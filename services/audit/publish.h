/*
 * publish - tells the world the heads of chains: whoever keeps them can tell later whether what is
 * below them has been rewritten, also by somebody who owns the database.
 *
 * Threads  The sealer's.
 */
#ifndef SERVICES_AUDIT_PUBLISH_H
#define SERVICES_AUDIT_PUBLISH_H

#include "common/bus/bus.h"
#include "common/db/db.h"

/* Publishes heads that have not been yet, a limited number of them; *n says how many. A head whose
   note is lost is published again. */
MUST_CHECK enum status publish_heads(struct db *db, struct bus *bus, struct arena *arena,
                                     size_t *n);

#endif

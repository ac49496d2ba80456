/*
 * retire - drops what has been kept long enough: a month of entries at a time, then its blocks and
 *          the changes that operators made.
 *
 * Threads  The sealer's: it can take seconds, which commands must not wait.
 */
#ifndef SERVICES_AUDIT_RETIRE_H
#define SERVICES_AUDIT_RETIRE_H

#include "common/db/db.h"

struct retire {
    int64_t months; /* 0 = everything is kept for ever */
    int64_t due_us; /* clock_mono_us() */
};

/* One step, when one is due. */
void retire_step(struct retire *retire, struct db *db, struct arena *arena);

#endif

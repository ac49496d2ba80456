/*
 * retention_job - drops all that is older than the retention: a month of entries at a time, noted
 * and signed, then its blocks and the changes that operators made.
 *
 * Threads  The sealer's: it can take seconds, which commands must not wait, and the key is its own.
 */
#ifndef SERVICES_AUDIT_RETENTION_H
#define SERVICES_AUDIT_RETENTION_H

#include "services/audit/chain.h"

struct retention_job {
    const struct audit_keys *keys;
    const char *name; /* of the replica, for the notes */
    int64_t months;   /* 0 = everything is kept for ever */
    int64_t due_us;   /* clock_mono_us() */
};

/* One step, when one is due. */
void retention_job_step(struct retention_job *job, struct db *db, struct arena *arena);

#endif

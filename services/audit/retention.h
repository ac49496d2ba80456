/*
 * retention_job - drops what is older than the retention: entries a month at a time, each with a
 * signed note, then their blocks, and entries of the log of changes.
 *
 * Threads  The sealer's: a step can take seconds, which commands must not wait for, and it signs.
 */
#ifndef SERVICES_AUDIT_RETENTION_H
#define SERVICES_AUDIT_RETENTION_H

#include "services/audit/chain.h"

struct retention_job {
    const struct audit_keys *keys;
    const char *name; /* of the replica, for the notes */
    int64_t months;   /* 0 = nothing is dropped */
    int64_t due_us;   /* clock_mono_us() */
};

/* Runs one step, if one is due. */
void retention_job_step(struct retention_job *job, struct db *db, struct arena *arena);

#endif

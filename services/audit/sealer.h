/*
 * sealer - the thread that seals the audit log and publishes the heads of its chains.
 *
 * What     Twice a second it seals the settled entries, without a pause while it is behind; once a
 *          minute it publishes the heads of the chains that have grown, on the bus and in the log;
 *          once an hour it drops entries that are older than the retention. In between it reads
 *          the metrics of the database (database_watch.h).
 *          Every replica has a sealer; the database lets only one work at a time.
 * Owns     Its thread, with its own connections to the bus and the database: on an actor's, a step
 *          would delay commands that clients wait for.
 * Threads  sealer_start() and sealer_stop() on the main thread.
 * Fails    What fails is retried later; a gauge shows how far behind the sealer is.
 */
#ifndef SERVICES_AUDIT_SEALER_H
#define SERVICES_AUDIT_SEALER_H

#include "common/runtime/service.h"
#include "services/audit/chain.h"

/* The arguments must outlive the sealer. ST_REFUSED (logged): the URL of the bus or of the database
   cannot be used. */
MUST_CHECK enum status sealer_start(const struct process *process, const struct audit_keys *keys,
                                    int64_t retention_months);
void sealer_stop(void);

/* The value of the gauge: the age of the oldest entry that is not sealed, at the last step. Any
   thread, from sealer_start() on. */
int64_t sealer_lag_s(void);

#endif

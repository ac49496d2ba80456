/*
 * sealer - the thread that seals the audit log and publishes the heads of its chains.
 *
 * What     Twice a second it seals the settled entries, at once again while it is behind; once a
 *          minute it publishes the heads of the chains that have grown, on the bus and in the log;
 *          once an hour it drops entries that have been kept long enough.
 *          Every replica has one; the database lets one of them work at a time.
 * Owns     Its thread, with its own connections to the bus and the database: on the actor's, a step
 *          would delay commands, each of which a client waits for.
 * Threads  sealer_start() and sealer_stop() on the main thread.
 * Fails    What cannot be done now is done later; the gauges show how far behind it is.
 */
#ifndef SERVICES_AUDIT_SEALER_H
#define SERVICES_AUDIT_SEALER_H

#include "common/runtime/service.h"
#include "services/audit/chain.h"

/* Keeps its arguments. ST_REFUSED (logged): the bus or the database cannot be used so. */
MUST_CHECK enum status sealer_start(const struct process *process, const struct audit_keys *keys,
                                    int64_t retention_months);
void sealer_stop(void);

/* The age of the oldest entry that is not sealed, as at the last look: the gauge. Any thread, from
   sealer_start() on. */
int64_t sealer_lag_s(void);

#endif

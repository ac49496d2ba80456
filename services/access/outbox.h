/*
 * outbox - hands the changes that this service makes to the audit service, which keeps the log of
 * changes; on a thread beside the actors.
 *
 * What     The audit sink of the service's actors writes a change into access.outbox, in the
 *          transaction of the change, and wakes the thread after the commit. The thread sends
 *          waiting changes to the audit services (v1.audit.record), a message to each cell that has
 *          any, in the order of organizations and ids, and deletes them when the reply says that
 *          the log has them. It also looks every five seconds for changes that other processes have
 *          left.
 *
 *          Claims, replies, pauses and limits are a cell's own (lane.h): a cell that does not answer
 *          delays no other one, unless 16 do not.
 *
 *          No transaction is open while it waits for replies. It claims changes for a limited
 *          time before it sends them, so that other replicas send others. If a reply is lost or a
 *          claim expires, the changes are sent again, and the log takes each only once.
 *
 *          Without a reply it retries for ever, with a delay that grows to five seconds. A change
 *          that the audit service refuses is set aside, counted, logged, and retried every five
 *          minutes: it does not delay others, and it is not lost.
 * Owns     Its thread, with its own connections to the bus and the database.
 * Threads  outbox_start() and outbox_stop() on the main thread; the sink on the actors'.
 * Fails    ST_REFUSED (logged): the URL of the bus or of the database cannot be used. What fails
 *          later is retried; the gauges show how far behind it is.
 */
#ifndef SERVICES_ACCESS_OUTBOX_H
#define SERVICES_ACCESS_OUTBOX_H

#include "common/actor/actor.h"
#include "common/runtime/service.h"

extern const struct audit_sink access_outbox;

MUST_CHECK enum status outbox_start(const struct process *process);
/* Waits for the reply to a message under way, at most two seconds. Actors may still be running:
   changes that they commit then are left to another process, or to the next. */
void outbox_stop(void);

#endif

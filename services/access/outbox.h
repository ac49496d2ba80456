/*
 * outbox - brings the changes that this service makes into the log of changes, which another service
 * keeps: a thread beside the actors.
 *
 * What     The audit sink of the service's actors writes a change into access.outbox, in the
 *          transaction of the change, and wakes the thread when that is committed. The thread hands
 *          what waits there to the audit service (v1.audit.record), in the order of organizations and
 *          ids, some at a time, and deletes it when the answer says that the log has it. It also
 *          looks once a second, for what other processes have left.
 *          No transaction is open while it waits for the answer. What it sends it has claimed for a
 *          while before, so that other replicas send something else. Where an answer is lost, or a
 *          claim runs out, a change is sent again, and the log takes it once.
 *          While nobody answers it tries again for ever, less and less often, down to every five
 *          seconds. A change that the audit service refuses is set aside, counted, logged, and tried
 *          again every five minutes: others do not wait for it, and it is not lost.
 * Owns     Its thread, with its own connections to the bus and the database.
 * Threads  outbox_start() and outbox_stop() on the main thread; the sink on the actors'.
 * Fails    ST_REFUSED (logged): the bus or the database cannot be used so. What cannot be done now is
 *          done later; the gauges show how far behind it is.
 */
#ifndef SERVICES_ACCESS_OUTBOX_H
#define SERVICES_ACCESS_OUTBOX_H

#include "common/actor/actor.h"
#include "common/runtime/service.h"

extern const struct audit_sink access_outbox;

MUST_CHECK enum status outbox_start(const struct process *process);
/* Waits for the answer to what is under way: two seconds at most. Actors may still be running: what
   they commit then is left to another process, or to the next. */
void outbox_stop(void);

/* -- what an answer means ---------------------------------------------------------------------- */

enum outbox_verdict {
    OUTBOX_IN_LOG, /* the log has all of the changes */
    OUTBOX_LATER,  /* it may have them or not, and it is worth trying again soon */
    OUTBOX_REFUSED, /* it has none of them, and will not while they and the audit service are as they are */
};

/* By the reply's outcome; STR_NONE: no reply came, or nobody takes the command, as when all replicas
   of the audit service are from before it. Pure. */
enum outbox_verdict outbox_judge(struct str outcome);

#endif

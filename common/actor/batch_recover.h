/*
 * batch_recover - when a transaction fails: finds the commands that made it fail, and runs the
 *                 others.
 *
 * What     The command whose statement failed is taken out and the others run together again. If
 *          several commands share the statement, they run again in halves. When the search takes too
 *          long, those that are not suspects go back to the queue and suspects are refused.
 *          A command on which a transaction fails alone:
 *
 *            ST_RETRY        is put back (lost a race, or its row is locked); dropped without a
 *                            reply if the audit log already has an entry for its request
 *            ST_INTERNAL     is answered `server_error`, in a transaction that writes its entry
 *            ST_UNAVAILABLE  is answered `unavailable`: nothing was written
 *            ST_UNCERTAIN    the link was lost during COMMIT: `uncertain` if it may have written,
 *                            otherwise `unavailable`
 *
 * Threads  The actor's, which it blocks: failures are rare, and the search has a time limit.
 */
#ifndef COMMON_ACTOR_BATCH_RECOVER_H
#define COMMON_ACTOR_BATCH_RECOVER_H

#include "common/actor/batch.h"

/* The transaction of the batch's items has failed. Afterwards each is replied to, dropped or put
   back. */
void batch_recover(struct batch *batch, enum status st);

#endif

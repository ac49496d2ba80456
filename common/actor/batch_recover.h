/*
 * batch_recover - when a transaction fails: finds the commands that made it fail, and runs the
 *                 others.
 *
 * What     The command whose statement failed is taken out and the others run together again. If
 *          several commands share the statement, they run again in halves. When the search takes too
 *          long, those that are not suspects go back to the queue and suspects are refused.
 * Threads  The actor's, which it blocks: failures are rare, and the search has a time limit.
 */
#ifndef COMMON_ACTOR_BATCH_RECOVER_H
#define COMMON_ACTOR_BATCH_RECOVER_H

#include "common/actor/batch.h"

/* The transaction of the batch's items has failed. Afterwards each is replied to, dropped or put
   back. Returns the time that was spent on commands that were found and taken out. */
int64_t batch_recover(struct batch *batch, enum status st);

#endif

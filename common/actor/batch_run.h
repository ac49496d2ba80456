/*
 * batch_run - takes a batch from the queue, and through its phases.
 *
 * What     In the end each command is replied to, dropped or put back, and the batch is idle again.
 * Threads  The actor's.
 */
#ifndef COMMON_ACTOR_BATCH_RUN_H
#define COMMON_ACTOR_BATCH_RUN_H

#include "common/actor/batch.h"

/* The batch must be idle. If its connection is down, its commands are refused. */
void batch_begin(struct batch *batch);
/* The server has answered what was sent last: db_is_ready(). */
void batch_advance(struct batch *batch);

#endif

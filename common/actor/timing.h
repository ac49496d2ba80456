/*
 * timing - when an actor's next batch begins, and how long a step sleeps until something is due.
 *
 * What     While a batch runs, a second one begins when at least half as many commands wait as the
 *          first has, or when the first has run for 5 ms: a smaller batch costs more than a short
 *          wait.
 *          After a batch the slow lane rests for as long as the batch took, here and then in the bus,
 *          the gateway and the client: it uses half of a processor at most, whatever the load.
 * Threads  The actor's.
 */
#ifndef COMMON_ACTOR_TIMING_H
#define COMMON_ACTOR_TIMING_H

#include <stdbool.h>

struct actor;
struct batch;

/* A batch that can begin. NULL: there is none. */
struct batch *timing_idle_batch(struct actor *actor);
/* The first batch that is running. NULL: none is. */
const struct batch *timing_running_batch(const struct actor *actor);

/* Commands wait, and their batch need not. */
bool timing_may_begin(struct actor *actor);
/* Call when a batch of the slow lane has ended. */
void timing_rest(struct actor *actor, const struct batch *batch);

/* How long the next step waits for the bus and the database. */
int timing_sleep_ms(struct actor *actor);

#endif

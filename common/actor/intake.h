/*
 * intake - takes messages from the bus into an actor's queue, or hands them over to the slow lane.
 *
 * Threads  The actor's.
 */
#ifndef COMMON_ACTOR_INTAKE_H
#define COMMON_ACTOR_INTAKE_H

struct actor;

/* All that has arrived. One read of the socket yields one buffer's worth: reads again while that
   brings more and the next batch has room for it. */
void intake_gather(struct actor *actor);
/* Called from time to time while a db waits; the closure is the actor. Keeps reading messages:
   otherwise the NATS server would cut the connection off as a slow consumer, and the replies with
   it. */
void intake_on_wait(void *closure);

#endif

/*
 * command_reply - ends commands: replies to them, or puts them back into the queue.
 *
 * What     A command that ends is charged to its organization, in the queue and in the slow lane. If
 *          that makes the organization slow, its commands that wait are handed over.
 * Owns     Frees the messages of commands that end.
 * Threads  The actor's.
 * Fails    Never; a reply that cannot be sent is counted (logged).
 */
#ifndef COMMON_ACTOR_COMMAND_REPLY_H
#define COMMON_ACTOR_COMMAND_REPLY_H

#include "common/actor/batch.h"

void command_reply(struct batch *batch, struct batch_item *item);
/* Fails it with the outcome, and replies. OUTCOME_UNAVAILABLE only if nothing was written. */
void command_reply_failed(struct batch *batch, struct batch_item *item, enum outcome outcome);
/* Charges it and frees its message, without a reply or after one. */
void command_end(struct batch *batch, struct batch_item *item);
/* Replies that nothing was started, as the deadline has passed. */
void command_expire(struct batch *batch, struct batch_item *item);
/* It lost a race, or its rows are locked: puts it back, to run with a later batch after a pause;
   refuses it when it has been retried for too long. */
void command_defer(struct batch *batch, struct batch_item *item);

/* Ends those whose deadline has passed; returns how many are left. */
size_t commands_keep_unexpired(struct batch *batch, struct batch_item **items, size_t n);
/* Their transaction is committed: replies to them or puts them back, and sends the replies now, even
   if others of the batch are still to be retried. */
void commands_settle(struct batch *batch, struct batch_item **items, size_t n);

/* Replies that the actor is busy to a message for which the queue has no room. */
void command_reject_message(struct actor *actor, const struct waiting *waiting);
/* Puts it into the slow lane; rejects it if that is full. */
void command_hand_over(struct actor *actor, const struct uuid *organization,
                       struct waiting waiting);

#endif

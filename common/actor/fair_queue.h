/*
 * fair_queue - the messages that wait in an actor's mailbox, taken by organization in turn. Private
 * to common/actor.
 *
 * What     Surplus round robin. The waiting messages of one organization form a flow, in order of
 *          arrival; messages without an organization form one flow too. In each round a flow earns
 *          one unit, and a flow that is not in debt has one command taken, which costs it that unit.
 *          The rest of the command's cost is known, and charged, when it has been answered. A flow
 *          in debt is passed over until each of the other waiting flows has had as much, in units or
 *          in time. Commands past their deadline are taken regardless of debt, so that they are
 *          answered. So organizations that wait share the actor's time equally, however expensive
 *          and frequent their commands are; one that waits alone has all of it.
 *
 *          A batch ends when its expected cost reaches BATCH_COST units or its expected size reaches
 *          `batch_bytes`: a new message waits for no more than that, or for one command that is
 *          larger. The cost of a flow's next command and the size of its reply are estimated from
 *          its earlier ones. From a flow without estimates only a few commands are taken at first.
 *          If a batch holds more than expected, commands that only read are given back.
 *
 *          A command that lost a race is put back at the front of its flow, after a pause that grows
 *          with each try. A command that was taken but not run is given back without a pause.
 * Owns     The messages that wait in it. All its memory is allocated at once.
 * Threads  The actor's.
 */
#ifndef COMMON_ACTOR_FAIR_QUEUE_H
#define COMMON_ACTOR_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/actor/flows.h"

/* Units of cost, about: what a batch may have. */
#define BATCH_COST 256
/* How many messages may wait to be retried. */
#define PUT_BACK_MAX 256

struct fair_queue {
    struct flows flows;
    /* That may wait: of messages, not counting those put back; of bytes, in all. */
    size_t max, max_bytes;
    size_t batch_bytes; /* of bodies and replies of one batch, about */
    int64_t taken_us;   /* when the last batch was taken, and how many rounds it went */
    int64_t n_rounds;
    struct list put_back; /* messages that are not due yet */
    size_t n_put_back, bytes_put_back;
};

/* `taken_max`: how many messages may be taken at a time, in all batches that run at once. */
void fair_queue_init(struct fair_queue *queue, size_t max, size_t max_bytes, size_t taken_max,
                     size_t batch_bytes);
/* Nothing may wait in it any more. */
void fair_queue_release(struct fair_queue *queue);

/* Adds a message of an organization (nil: of none). True: there is no room, and the caller must
   reject *excess, the newest message of the flow with the most waiting, or the message itself if its
   flow would then have as many. Otherwise add it again then. */
bool fair_queue_add(struct fair_queue *queue, const struct uuid *organization,
                    const struct waiting *waiting, struct waiting *excess);
/* Takes the next message of a flow for good; there must be one. */
struct waiting fair_queue_remove(struct fair_queue *queue, struct flow *flow);

/* Takes the next batch into `out`: messages past their deadline first, at most `max` in all. 0 when
   nothing is due. Each is put back, given back or ended. */
size_t fair_queue_take(struct fair_queue *queue, size_t max, int64_t now_us, struct waiting **out);
/* Puts it back, to be retried at its due_us. False: too many are put back. */
bool fair_queue_put_back(struct fair_queue *queue, struct waiting *waiting);
/* Gives back one that caused no failure: the next batch takes it. */
void fair_queue_give_back(struct fair_queue *queue, struct waiting *waiting);
/* Expects at least that many bytes of the reply to it, and to the next one of its flow. */
void fair_queue_expect(struct waiting *waiting, size_t bytes);
/* Ends it: charges its cost, and estimates the flow's next cost and reply from it and `bytes`, the
   size of its reply; 0, 0: it was not run, and nothing is learned. */
void fair_queue_end(struct fair_queue *queue, struct waiting *waiting, uint32_t cost, size_t bytes,
                    int64_t now_us);

/* How many wait, those put back included. */
size_t fair_queue_waiting(const struct fair_queue *queue);
/* Microseconds until something is due; 0 = something is. -1: nothing waits. */
int64_t fair_queue_due_in(const struct fair_queue *queue, int64_t now_us);

#endif

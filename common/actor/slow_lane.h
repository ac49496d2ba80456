/*
 * slow_lane - the queue in front of the actor that runs the commands of organizations which send
 *             expensive ones. Private to common/actor.
 *
 * What     An actor runs one batch or two at a time, so all others wait for a command that takes
 *          long. The actors of a mailbox therefore share one more, which subscribes to nothing and
 *          has its own database connection: commands of expensive organizations go into its queue,
 *          and delay only others like them.
 *
 *          To find these organizations, the cost of each command is charged here, wherever it ran.
 *          Costs of EXPENSIVE_COST and more fill the organization's bucket, which holds 20 ms of a
 *          database backend and leaks a tenth of a backend's time. When it overflows, the
 *          organization is slow for SLOW_US: all of its commands, cheap or not, go into the queue.
 *
 *          A reply leaves over the connection by which its message came; the bus permits no other. So
 *          each actor that puts messages here has a reply queue: the slow lane's actor puts its
 *          replies into it, and that actor sends them. While replies wait to be sent, the slow lane
 *          begins no batch.
 * Owns     Messages between slow_lane_put() and slow_lane_take(), replies between reply_queue_put()
 *          and reply_queue_take(), and the reply queues. slow_lane_free() frees them all.
 * Threads  Any; two mutexes, one of the queue and the buckets, one of each reply queue, are held for
 *          moments.
 * Fails    slow_lane_put() is false when the queue or the reply queue is full.
 */
#ifndef COMMON_ACTOR_SLOW_LANE_H
#define COMMON_ACTOR_SLOW_LANE_H

#include "common/actor/fair_queue.h"

/* In units of cost, about 20 microseconds each: see command.h. Half of a batch, for which all
   others wait as well. */
#define EXPENSIVE_COST (BATCH_COST / 2)
#define SLOW_US        (10 * 1000 * 1000) /* microseconds */

struct bus;
struct slow_lane;

/* -- messages on their way to the slow lane ---------------------------------------------------- */

/* `max` messages and `max_bytes` of their bodies may wait in the queue. */
struct slow_lane *slow_lane_new(size_t max, size_t max_bytes);
/* The bus of the slow lane's actor, which is woken when something is put into the empty queue;
   NULL: none. Call once, before anything is put. */
void slow_lane_wakes(struct slow_lane *lane, struct bus *bus);
void slow_lane_free(struct slow_lane *lane); /* NULL is fine */

/* Adds a command's cost. True: the organization is slow, and its waiting commands belong in the
   queue. `now_us` is clock_mono_us(), here and below. */
bool slow_lane_charge(struct slow_lane *lane, const struct uuid *organization, uint32_t cost,
                      int64_t now_us);
/* True: the organization is slow. */
bool slow_lane_has(struct slow_lane *lane, const struct uuid *organization, int64_t now_us);

/* False: there is no room, and the message stays the caller's. Otherwise its reply queue keeps room
   for the reply until reply_queue_settle(). */
bool slow_lane_put(struct slow_lane *lane, const struct uuid *organization,
                   const struct waiting *waiting);
/* The oldest one; false: there is none. */
bool slow_lane_take(struct slow_lane *lane, struct uuid *organization, struct waiting *waiting);

/* -- replies on their way back ----------------------------------------------------------------- */

/* For an actor that hands over messages; `bus` is woken when there is something to send. Call
   before it hands any over; slow_lane_free() frees it. */
struct reply_queue *reply_queue_new(struct slow_lane *lane, struct bus *bus);
/* Frees the replies in it; later ones are freed as they are put. Call before the bus is freed. NULL
   is fine. */
void reply_queue_close(struct reply_queue *reply_queue);
struct slow_reply {
    struct bus_message *message;
    struct uuid request_id; /* for the log */
};

/* Takes the reply's message; NULL is fine. */
void reply_queue_put(struct reply_queue *reply_queue, struct slow_reply reply);
/* Call when a message that was put is done with, its reply included. */
void reply_queue_settle(struct reply_queue *reply_queue);
/* The oldest reply, which becomes the caller's. False: there is none. */
bool reply_queue_take(struct reply_queue *reply_queue, struct slow_reply *reply);
/* True: some reply is still to come or to be sent. */
bool reply_queue_is_awaited(struct reply_queue *reply_queue);
/* True: some reply is still to be sent, from any reply queue. */
bool slow_lane_has_unsent(const struct slow_lane *lane);
/* An actor that puts messages here is about to end: from now on the slow lane's actor takes no
   rests. */
void slow_lane_hurry(struct slow_lane *lane);
bool slow_lane_is_hurried(const struct slow_lane *lane);

#endif

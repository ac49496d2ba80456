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
 *          The slow lane's actor replies over its own connection. A plain message must stay with the
 *          actor that has taken it (bus_reply()).
 * Owns     Messages between slow_lane_put() and slow_lane_take(); slow_lane_free() frees them.
 * Threads  Any; a mutex is held for moments.
 * Fails    slow_lane_put() is false when the queue is full.
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

/* `max` messages and `max_bytes` of their bodies may wait in the queue. `bus` is that of the slow
   lane's actor, which is woken when something is put into the empty queue; NULL: none. */
struct slow_lane *slow_lane_new(struct bus *bus, size_t max, size_t max_bytes);
void slow_lane_free(struct slow_lane *lane); /* NULL is fine */

/* Adds a command's cost. True: the organization is slow, and its waiting commands belong in the
   queue. `now_us` is clock_mono_us(), here and below. */
bool slow_lane_charge(struct slow_lane *lane, const struct uuid *organization, uint32_t cost,
                      int64_t now_us);
/* True: the organization is slow. */
bool slow_lane_has(struct slow_lane *lane, const struct uuid *organization, int64_t now_us);

/* False: there is no room, and the message stays the caller's. */
bool slow_lane_put(struct slow_lane *lane, const struct uuid *organization,
                   const struct waiting *waiting);
/* The oldest one; false: there is none. */
bool slow_lane_take(struct slow_lane *lane, struct uuid *organization, struct waiting *waiting);

#endif

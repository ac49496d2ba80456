/*
 * slow_lane - where actors leave the commands of organizations that ask for much. Private to
 * common/actor.
 *
 * What     An actor does one thing after the other, so a command that takes long is waited for by all
 *          that come behind it, whosever they are. The actors of a mailbox share a slow lane:
 *          expensive organizations' commands run there, in an actor that subscribes to nothing and
 *          has its own database connection, and delay only each other.
 *
 *          Each command's cost is told, wherever it was run. A bucket by organization fills with
 *          those of EXPENSIVE_COST and more, and leaks a tenth of a backend's time. When it
 *          overflows, the organization is slow until SLOW_US later: what it asks for is put into the
 *          lane, cheap or not.
 *
 *          A message may be answered over the connection by which it came, and no other: the bus
 *          permits that and nothing else. So replies go back to the actor that has handed the
 *          message over, by its outbox. While some wait there, the lane begins nothing.
 * Owns     The messages that were put and not taken, and the replies that were not sent;
 *          slow_lane_free() frees them.
 * Threads  Any.
 */
#ifndef COMMON_ACTOR_SLOW_LANE_H
#define COMMON_ACTOR_SLOW_LANE_H

#include "common/actor/fair_queue.h"

/* Units of cost, of some 20 microseconds: see command.h. A batch of others is waited for as well,
   and may take twice as long. */
#define EXPENSIVE_COST (BATCH_COST / 2)
#define SLOW_US        (10 * 1000 * 1000)

struct bus;
struct slow_lane;

/* -- there ----------------------------------------------------------------------------------- */

/* `max` and `max_bytes` bound what is put and not taken. */
struct slow_lane *slow_lane_new(size_t max, size_t max_bytes);
/* Whose owner is woken when something is put; NULL: none. Once, before anything is. */
void slow_lane_wakes(struct slow_lane *lane, struct bus *bus);
void slow_lane_free(struct slow_lane *lane); /* NULL is fine */

/* True: what the organization waits for belongs into the lane. */
bool slow_lane_charge(struct slow_lane *lane, const struct uuid *organization, uint32_t cost,
                      int64_t now_us);
bool slow_lane_has(struct slow_lane *lane, const struct uuid *organization, int64_t now_us);

/* False: there is no room, and the message stays the caller's. Its outbox counts it as lent until
   outbox_settle(). */
bool slow_lane_put(struct slow_lane *lane, const struct uuid *organization,
                   const struct waiting *waiting);
/* The oldest one; false: there is none. */
bool slow_lane_take(struct slow_lane *lane, struct uuid *organization, struct waiting *waiting);

/* -- and back -------------------------------------------------------------------------------- */

/* Of an actor that hands over; its owner is woken when there is something to send. Before the lane's
   thread starts anything for it; the lane's to free. */
struct outbox *outbox_new(struct slow_lane *lane, struct bus *bus);
/* Nothing is sent any more, and the bus ends. NULL is fine. */
void outbox_close(struct outbox *outbox);
/* Takes the reply; NULL is fine. */
void outbox_put(struct outbox *outbox, struct bus_message *reply);
/* One that was put is done with, its reply included. */
void outbox_settle(struct outbox *outbox);
/* The oldest one, which is the caller's; NULL: there is none. */
struct bus_message *outbox_take(struct outbox *outbox);
/* Some reply is still to come or to be sent. */
bool outbox_is_awaited(struct outbox *outbox);
/* Of any outbox. */
bool slow_lane_has_unsent(const struct slow_lane *lane);
/* Who hands over is about to end: no time is to be lost from now on. */
void slow_lane_hurry(struct slow_lane *lane);
bool slow_lane_is_hurried(const struct slow_lane *lane);

#endif

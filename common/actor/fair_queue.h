/*
 * fair_queue - what waits in an actor's mailbox, taken by organization in turn. Private to
 * common/actor.
 *
 * What     Surplus round robin. What waits of one organization is a flow, in the order in which it
 *          came; what names no organization is one flow too. In each round a flow earns one unit,
 *          and one that is not in debt has a command taken, which costs it a unit. What it cost
 *          beyond that is known, and charged, when it has been answered. A flow in debt is passed
 *          over until others that wait have had as much, or as much time has passed for each of
 *          them. Commands past their deadline are handed out all the same, so that they are
 *          answered. So organizations that wait share the actor's time,
 *          whatever they ask for and however often; one that waits alone has all of it.
 *
 *          A batch ends when it is expected to cost BATCH_COST units or to hold `batch_bytes`: who
 *          comes next waits for that much, or for one command that is larger. What a flow's next
 *          command costs and how long its reply is, is expected from those before. Of a flow that
 *          was not met lately a few are taken to learn it. Who finds that a batch holds more than
 *          was expected gives back what it can do without.
 *
 *          What lost a race is put back, in front of its flow, and waits for a moment that grows
 *          from try to try. What was taken and not run is given back, and waits for nothing.
 * Owns     The messages that wait in it; all it needs is allocated at once.
 * Threads  The actor's.
 */
#ifndef COMMON_ACTOR_FAIR_QUEUE_H
#define COMMON_ACTOR_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/uuid.h"

struct bus_message;
struct command_handler;
struct reply_queue;
struct route_metrics;

/* What a unit of cost takes of an actor, about: see command.h. */
#define FAIR_UNIT_US 20
#define BATCH_COST   256
/* What may wait to be tried again. */
#define PUT_BACK_MAX 256

/* A message that has been taken from the bus and not begun, or put back. */
struct waiting {
    struct bus_message *message;
    const struct command_handler *handler; /* of the mailbox by which it came */
    const struct route_metrics *metrics;   /* of that handler's commands */
    size_t bytes;                          /* of its body */
    int64_t received_us;                   /* as the command will have it */
    int64_t since_us;                      /* the same moment, monotonic */
    int64_t until_us;                      /* its deadline, monotonic; 0 = none is known */
    struct reply_queue *reply_queue; /* by which it is answered; NULL: by the actor that runs it */
    /* Of one that was put back; monotonic. */
    unsigned n_tries;
    int64_t lost_us;   /* when it lost for the first time */
    int64_t due_us;    /* not to be tried before */
    int64_t spent_us;  /* on transactions that failed because of it, about */
    struct flow *flow; /* the queue's own */
};

struct fair_queue {
    size_t max, max_bytes; /* that may wait, not counting messages put back */
    size_t batch_bytes;    /* bodies and replies of one batch, about */
    size_t n, bytes;       /* that wait, messages put back included */
    struct flow *current; /* of the ring of flows in which something waits: the next to be served */
    size_t n_flows;       /* in that ring */
    int64_t taken_us;     /* when a batch was taken last, and how often it went round the ring */
    int64_t n_rounds;
    struct place *put_back; /* not due yet */
    size_t n_put_back;
    struct place *free_places;
    struct flow *idle_first, *idle_last; /* in which nothing waits; least lately used first */
    struct flow **table;                 /* by organization */
    struct place *places;
    struct flow *flows;
    size_t table_mask;
};

/* `batch_max` is as much as fair_queue_take() is ever asked for. */
void fair_queue_init(struct fair_queue *queue, size_t max, size_t max_bytes, size_t batch_max,
                     size_t batch_bytes);
/* Nothing waits in it any more. */
void fair_queue_release(struct fair_queue *queue);

/* Adds a message of an organization (nil: of none). True: there is no room, and *excess is to be
   rejected, the newest one of the flow in which most waits. Unless that is the message itself, it
   is to be added again. */
bool fair_queue_add(struct fair_queue *queue, const struct uuid *organization,
                    const struct waiting *waiting, struct waiting *excess);
/* What was taken is to be tried again at its due_us. False: too many are. */
bool fair_queue_put_back(struct fair_queue *queue, const struct waiting *waiting);
/* What was taken is taken again with the next batch, as if it had not been: it was not to blame. */
void fair_queue_give_back(struct fair_queue *queue, const struct waiting *waiting, int64_t now_us);
/* Takes what waits of one flow, the oldest first, without a charge. False: nothing does. */
bool fair_queue_remove(struct fair_queue *queue, struct flow *flow, struct waiting *out);
const struct uuid *fair_queue_organization(const struct flow *flow);
/* The next batch: at most `max`, in `out`, and before them those past their deadline. None when
   nothing is due. */
size_t fair_queue_take(struct fair_queue *queue, size_t max, int64_t now_us, struct waiting *out);
/* What one that was taken has cost and how long its reply is, from which it is learned what the next
   will; 0, 0: it was not run, and nothing is. To be told once for each, before as many more are
   taken as the queue may hold. */
void fair_queue_charge(struct fair_queue *queue, struct flow *flow, uint32_t cost, size_t bytes,
                       int64_t now_us);
/* The next reply of the flow will be as long as that, it is known from one that was given back. */
void fair_queue_expect(struct flow *flow, size_t bytes);
/* How long until something is due, in microseconds; 0 = something is. -1: nothing waits. */
int64_t fair_queue_due_in(const struct fair_queue *queue, int64_t now_us);

#endif

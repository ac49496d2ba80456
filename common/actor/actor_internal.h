/*
 * actor_internal - an actor, for the files that run its batches. Private to common/actor.
 *
 *     actor.c           the thread, and each of its steps
 *     timing.c          when a batch begins, and how long a step sleeps
 *     intake.c          from the bus into the queue, or into the slow lane
 *     fair_queue.c      the messages that wait, by organization; flows.c stores them
 *     slow_lane.c       the queue of the slow lane's actor, and the organizations it is for
 *     batch_run.c       takes a batch from the queue and through its phases
 *     command_read.c    turns a message into a command; command.c calls its first and last hooks
 *     transaction.c     turns commands into a transaction
 *     batch_recover.c   finds the commands that make a transaction fail, and runs the others
 *     command_reply.c   replies to commands, or puts them back; charges their cost
 *     database.c, membership.c, discovery.c, upkeep.c   each a part of its own, below
 *
 * Threads  The actor's, except for the atomics and the slow lane.
 */
#ifndef COMMON_ACTOR_ACTOR_INTERNAL_H
#define COMMON_ACTOR_ACTOR_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/actor/actor_metrics.h"
#include "common/actor/batch.h"
#include "common/actor/database.h"
#include "common/actor/discovery.h"
#include "common/actor/fair_queue.h"
#include "common/actor/handler.h"
#include "common/actor/membership.h"
#include "common/actor/slow_lane.h"
#include "common/actor/upkeep.h"
#include "common/bus/bus.h"

struct actor {
    const struct service *service;
    const char *name, *cell; /* NULL: main */
    bool is_slow_lane, answers_discovery;
    struct actor_metrics *metrics;
    struct route_metrics *route_metrics; /* in the order of the service's handlers */
    struct bus *bus;
    struct membership membership;
    struct database database;
    struct discovery *discovery; /* of the first actor of the process, once it has joined */
    struct upkeep upkeep;

    struct fair_queue queue;
    /* Shared by the actors that put into it and the one that takes from it, its owner; NULL:
       none. */
    struct slow_lane *slow_lane;
    struct batch batches[BATCHES_MAX];
    size_t n_batches;
    size_t batch_max;
    size_t batch_now;      /* how many commands it takes at once: fewer after a late batch */
    int64_t rest_until_us; /* when the slow lane goes on, by clock_mono_us() */
    bool has_unsent;       /* the bus' socket did not take everything */
    struct {
        int64_t bus_up, database_up, waiting, lost_replies;
    } shown; /* its parts of the metrics */

    pthread_t thread;
    atomic_bool is_stopping;
};

#endif

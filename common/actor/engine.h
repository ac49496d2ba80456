/*
 * engine - the parts of an actor and how they hand a command on. Private to common/actor.
 *
 *     actor.c    the thread: wait, take in
 *     links.c    the database's, and by it the place in the queue group
 *     work.c     a message becomes a command; its handlers are called
 *     organizations.c   operators' commands for organizations that there are not
 *     settle.c   commands become a transaction, one by one where that fails
 *     answer.c   a settled command becomes a reply
 *     discovery.c   answers who asks what services there are
 *
 * Threads  The actor's, the atomics apart.
 */
#ifndef COMMON_ACTOR_ENGINE_H
#define COMMON_ACTOR_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/actor/actor.h"
#include "common/actor/discovery.h"
#include "common/actor/meters.h"
#include "common/bus/bus.h"
#include "common/trace/trace.h"

/* A message that has been taken from the bus and not begun. */
struct waiting {
    struct bus_message *message;
    int64_t received_us; /* as the command will have it */
    int64_t since_us;    /* the same moment, monotonic */
};

struct actor {
    struct actor_options options;
    const struct service *service;
    struct meters *meters;
    struct route_meters *route_meters; /* in the order of the service's routes */
    struct bus *bus;
    struct bus_mailbox *mailbox; /* NULL until the database is there for the first time */
    bool has_left;               /* the queue group, for want of the database */
    int64_t lost_us;             /* when the database was lost last, by clock_mono_us() */
    struct discovery discovery;  /* opened by the first actor of the process */
    struct db *db;
    struct db_statement *statements; /* the service's, the ledger's, and the next behind them */
    int find_organizations;          /* its number, where the service looks them up */
    struct arena arena;              /* cleared after every batch */

    struct waiting *ring; /* mailbox_most places */
    size_t ring_first, ring_n;
    size_t batch_now; /* how many it takes at once: fewer after what was too much */
    int64_t batch_us; /* how long the latest batch took */

    int64_t idle_due_us; /* by clock_mono_us() */
    bool has_unsent;     /* the bus' socket did not take everything */
    bool showed_bus_up;  /* in the gauge */
    int64_t showed_waiting;

    /* The last doorbell of this turn: the same one is not rung twice in a row. */
    const char *rung;
    struct uuid rung_for;

    pthread_t thread;
    atomic_bool is_stopping, database_is_up;
};

/* A command on its way through a batch. */
struct work {
    struct command command;
    struct str request_id; /* as sent, for the log */
    struct span span;
    size_t arrival;
    int64_t since_us;    /* monotonic: when it was received */
    enum status verdict; /* of its handlers so far: ST_OK, ST_REFUSED or ST_RETRY when settled */
};

/* -- links.c --------------------------------------------------------------------------------- */

/* A step of connecting, of joining the queue group or of leaving it; takes 50 ms at most. */
void links_mind(struct actor *actor);
void links_show(struct actor *actor); /* in the gauges */

/* -- work.c ---------------------------------------------------------------------------------- */

/* False: not a command of ours, or not well-formed; the outcome says so. */
bool work_read(struct actor *actor, const struct waiting *from, struct work *work);
bool work_is_expired(const struct work *work);
/* It has waited for most of its time, and the rest is too short for a batch like the latest. */
bool work_is_hopeless(const struct actor *actor, const struct work *work);
/* Each takes a fresh work one step further and leaves the result in its verdict. */
void work_judge(struct actor *actor, struct work *work);
void work_ask(struct actor *actor, struct work *work);
void work_tell(struct actor *actor, struct work *work);
/* Empties the answer and makes it one of the actor's own failures. */
void work_fail(struct work *work, enum outcome outcome);

/* -- organizations.c ------------------------------------------------------------------------- */

/* Refuses those judged works whose organization does not exist, in a round trip of its own where
   there are any to look up. Anything but ST_OK is db_run()'s. */
enum status works_look_up(struct actor *actor, struct work *const *works, size_t n);

/* -- settle.c -------------------------------------------------------------------------------- */

/* Runs them as one transaction, and otherwise one by one: each is answered or dropped. */
void works_settle(struct actor *actor, struct work **works, size_t n);

/* -- answer.c -------------------------------------------------------------------------------- */

void work_answer(struct actor *actor, struct work *work);
/* Gives it up without a reply. */
void work_drop(struct work *work);
void work_expire(struct actor *actor, struct work *work); /* the same, its time being over */
/* Turns a message away that has not been read. */
void turn_away(struct actor *actor, struct bus_message *message);

#endif

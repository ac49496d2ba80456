/*
 * flows - the messages that wait in a mailbox, by organization.
 *
 * What     The messages of one organization form a flow, in order of arrival; messages without an
 *          organization form one flow too. Flows with waiting messages form a ring. Idle flows are
 *          kept with the estimates learned for them; the one that was used longest ago makes room for
 *          an organization that has no flow.
 * Owns     As many flows and places as can ever be in use, all allocated at once.
 * Threads  The actor's.
 */
#ifndef COMMON_ACTOR_FLOWS_H
#define COMMON_ACTOR_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/base/uuid.h"

struct bus_message;
struct command_handler;
struct route_metrics;

/* About how much of an actor's time a unit of cost takes: see command.h. */
#define FAIR_UNIT_US 20

/* A message in an actor's mailbox, until its command ends. */
struct waiting {
    struct bus_message *message;
    const struct command_handler *handler; /* of the mailbox that it came through */
    const struct route_metrics *metrics;   /* of that handler's commands */
    size_t bytes;                          /* of its body */
    int64_t received_us;                   /* clock_us(), for the command */
    int64_t since_us;                      /* the same moment, monotonic */
    int64_t until_us;                      /* its deadline, monotonic; 0 = unknown */
    /* For one that was put back; times are monotonic. */
    unsigned n_tries;
    int64_t lost_us;  /* when it first lost a race */
    int64_t due_us;   /* not retried before */
    int64_t spent_us; /* about, on transactions that failed because of it */
    /* The queue's own. */
    struct flow *flow;
    struct list link; /* in its flow, among those put back, or among free places */
};

struct flow {
    struct uuid organization;
    struct list messages; /* that wait, the next one first */
    size_t n, bytes;      /* of these */
    size_t n_all;         /* with those that are taken or put back */
    uint32_t debt;        /* units */
    uint32_t cost;        /* expected of its next command */
    size_t reply;         /* bytes expected of its next reply */
    bool is_known;
    size_t n_taken;  /* for the batch being taken */
    int64_t seen_us; /* when it was last charged */
    struct flow *next_in_table;
    struct list link; /* in the ring while something waits, else in the idle list */
};

struct flows {
    struct list ring;         /* of flows in which something waits; the first is served next */
    size_t n;                 /* in that ring */
    size_t n_messages, bytes; /* of the messages that wait in them */
    struct list idle;         /* flows in which nothing waits; least recently used first */
    struct flow **table;      /* by organization */
    size_t table_mask;
    struct flow *all;
    struct waiting *places;
    struct list free_places;
};

void flows_init(struct flows *flows, size_t n_places);
void flows_release(struct flows *flows);

struct flow *flow_of(struct flows *flows, const struct uuid *organization);
/* Makes an idle flow the last one to be reused for another organization. */
void flow_used(struct flows *flows, struct flow *flow);
/* NULL: none waits. */
static inline struct waiting *flow_first(const struct flow *flow)
{
    return LIST_FIRST(&flow->messages, struct waiting, link);
}

/* A copy, in a place of its own; there must be a free one. */
struct waiting *waiting_new(struct flows *flows, struct flow *flow, const struct waiting *waiting);
void waiting_free(struct flows *flows, struct waiting *waiting);
/* Adds one that is not waiting to its flow, at the end or in front. */
void flow_put(struct flows *flows, struct waiting *waiting, bool in_front);
/* Removes it from its flow. */
void flow_take(struct flows *flows, struct waiting *waiting);

#endif

/*
 * flows - the waiting messages of each organization, found by its id. Private to fair_queue.
 *
 * What     Flows with waiting messages form a ring and are served in turn. Idle flows are kept with
 *          the estimates learned for them; the least recently used one makes room for an
 *          organization that has no flow.
 * Owns     As many flows and places as can ever be in use, all allocated at once.
 * Threads  The actor's.
 */
#ifndef COMMON_ACTOR_FLOWS_H
#define COMMON_ACTOR_FLOWS_H

#include "common/actor/fair_queue.h"

struct place {
    struct waiting waiting;
    struct place *prev, *next; /* in its flow; next also links those put back, and free ones */
};

struct flow {
    struct uuid organization;
    struct place *first, *last;
    size_t n, bytes;
    size_t n_open; /* taken or put back, and not charged yet */
    uint32_t debt; /* units */
    uint32_t cost; /* expected of its next command */
    size_t reply;  /* bytes expected of its next reply */
    bool is_known;
    size_t n_taken;  /* for the batch being taken */
    int64_t seen_us; /* when it was last charged */
    struct flow *next_in_table;
    struct flow *prev, *next; /* in the ring while something waits, else in the idle list */
};

/* The queue must be zeroed except for its limits. */
void flows_init(struct fair_queue *queue, size_t n_places);
void flows_release(struct fair_queue *queue);

struct flow *flow_of(struct fair_queue *queue, const struct uuid *organization);
/* Makes an idle flow the last one to be reused for another organization. */
void flow_used(struct fair_queue *queue, struct flow *flow);

/* There must be a free one. */
struct place *place_for(struct fair_queue *queue, const struct waiting *waiting);
/* Adds it to its flow. A flow in which nothing waited earns for the time since it was last
   charged. */
void flow_put(struct fair_queue *queue, struct place *place, int64_t now_us, bool in_front);
/* Removes it from its flow; the place is free again. */
struct waiting flow_take(struct fair_queue *queue, struct place *place);

#endif

/*
 * flows - what waits of each organization, found by its id. Private to fair_queue.
 *
 * What     Flows in which something waits are in a ring, in turn; the others are kept with what
 *          has been learnt of them, and the one unused for longest makes room for an organization
 *          that was not met lately.
 * Owns     As many flows and places as there may be; all are allocated at once.
 * Threads  The actor's.
 */
#ifndef COMMON_ACTOR_FLOWS_H
#define COMMON_ACTOR_FLOWS_H

#include "common/actor/fair_queue.h"

struct place {
    struct waiting waiting;
    struct place *prev, *next; /* in its flow; next also of those put back, and of the free ones */
};

struct flow {
    struct uuid organization;
    struct place *first, *last;
    size_t n, bytes;
    size_t n_open; /* taken, or put back, and not charged */
    uint32_t debt; /* units */
    uint32_t cost; /* expected of the next */
    size_t reply;  /* bytes, likewise */
    bool is_known;
    size_t n_taken;  /* for the batch in the making */
    int64_t seen_us; /* when it was charged last */
    struct flow *next_in_table;
    struct flow *prev, *next; /* in the ring while something waits, else of the idle ones */
};

/* Of a queue that is zeroed except for its bounds. */
void flows_init(struct fair_queue *queue, size_t n_places);
void flows_release(struct fair_queue *queue);

struct flow *flow_of(struct fair_queue *queue, const struct uuid *organization);
/* It is the last to make room, of those in which nothing waits. */
void flow_used(struct fair_queue *queue, struct flow *flow);

/* There has to be a free one. */
struct place *place_for(struct fair_queue *queue, const struct waiting *waiting);
/* Into the flow of what waits there, which earns for the time in which nothing did. */
void flow_put(struct fair_queue *queue, struct place *place, int64_t now_us, bool in_front);
/* Out of it; the place is free again. */
struct waiting flow_take(struct fair_queue *queue, struct place *place);

#endif

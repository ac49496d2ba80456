#include "common/actor/flows.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/log.h"

/* -- lists ----------------------------------------------------------------------------------- */

static void idle_add(struct fair_queue *queue, struct flow *flow)
{
    flow->next = NULL;
    flow->prev = queue->idle_last;
    if (flow->prev != NULL)
        flow->prev->next = flow;
    else
        queue->idle_first = flow;
    queue->idle_last = flow;
}

static void idle_remove(struct fair_queue *queue, struct flow *flow)
{
    if (flow->prev != NULL)
        flow->prev->next = flow->next;
    else
        queue->idle_first = flow->next;
    if (flow->next != NULL)
        flow->next->prev = flow->prev;
    else
        queue->idle_last = flow->prev;
}

/* It is served last. */
static void ring_add(struct fair_queue *queue, struct flow *flow)
{
    if (queue->n_flows++ == 0) {
        queue->current = flow->prev = flow->next = flow;
        return;
    }
    flow->next = queue->current;
    flow->prev = queue->current->prev;
    flow->prev->next = flow->next->prev = flow;
}

static void ring_remove(struct fair_queue *queue, struct flow *flow)
{
    if (queue->current == flow)
        queue->current = flow->next;
    flow->prev->next = flow->next;
    flow->next->prev = flow->prev;
    if (--queue->n_flows == 0)
        queue->current = NULL;
}

/* -- flows ----------------------------------------------------------------------------------- */

static struct flow **bucket_of(const struct fair_queue *queue, const struct uuid *organization)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    for (size_t i = 0; i < sizeof(organization->b); i++)
        hash = (hash ^ organization->b[i]) * 1099511628211u;
    return &queue->table[(hash ^ hash >> 32) & queue->table_mask];
}

static void table_remove(struct fair_queue *queue, const struct flow *flow)
{
    struct flow **at = bucket_of(queue, &flow->organization);

    while (*at != NULL && *at != flow)
        at = &(*at)->next_in_table;
    if (*at != NULL) /* one that was never used is in no bucket */
        *at = (*at)->next_in_table;
}

/* There is always one: there are more flows than places for messages that wait or are not charged
   yet. */
static struct flow *least_lately_used(const struct fair_queue *queue)
{
    struct flow *flow = queue->idle_first;

    while (flow != NULL && flow->n_open > 0)
        flow = flow->next;
    must(flow != NULL);
    return flow;
}

struct flow *flow_of(struct fair_queue *queue, const struct uuid *organization)
{
    struct flow **bucket = bucket_of(queue, organization), *flow = *bucket;

    while (flow != NULL && !uuid_equal(&flow->organization, organization))
        flow = flow->next_in_table;
    if (flow != NULL)
        return flow;
    flow = least_lately_used(queue);
    table_remove(queue, flow);
    idle_remove(queue, flow);
    *flow = (struct flow){.organization = *organization, .cost = 1, .next_in_table = *bucket};
    *bucket = flow;
    idle_add(queue, flow);
    return flow;
}

/* An idle flow pays off its debt in the time that another could have used. */
static void begin_to_wait(struct fair_queue *queue, struct flow *flow, int64_t now_us)
{
    int64_t paid = (now_us - flow->seen_us) / FAIR_UNIT_US;

    idle_remove(queue, flow);
    ring_add(queue, flow);
    if (paid > 0 && flow->n_open == 0)
        flow->debt = paid < flow->debt ? flow->debt - (uint32_t)paid : 0;
}

/* -- places ---------------------------------------------------------------------------------- */

struct place *place_for(struct fair_queue *queue, const struct waiting *waiting)
{
    struct place *place = queue->free_places;

    must(place != NULL);
    queue->free_places = place->next;
    *place = (struct place){.waiting = *waiting};
    queue->n++;
    queue->bytes += waiting->bytes;
    return place;
}

static struct waiting give_up_place(struct fair_queue *queue, struct place *place)
{
    struct waiting waiting = place->waiting;

    queue->n--;
    queue->bytes -= waiting.bytes;
    place->next = queue->free_places;
    queue->free_places = place;
    return waiting;
}

static void append(struct flow *flow, struct place *place)
{
    place->prev = flow->last;
    if (flow->last != NULL)
        flow->last->next = place;
    else
        flow->first = place;
    flow->last = place;
}

static void prepend(struct flow *flow, struct place *place)
{
    place->prev = NULL;
    place->next = flow->first;
    if (flow->first != NULL)
        flow->first->prev = place;
    else
        flow->last = place;
    flow->first = place;
}

static void detach(struct flow *flow, struct place *place)
{
    if (place->prev != NULL)
        place->prev->next = place->next;
    else
        flow->first = place->next;
    if (place->next != NULL)
        place->next->prev = place->prev;
    else
        flow->last = place->prev;
}

void flow_put(struct fair_queue *queue, struct place *place, int64_t now_us, bool in_front)
{
    struct flow *flow = place->waiting.flow;

    if (flow->n++ == 0)
        begin_to_wait(queue, flow, now_us);
    flow->bytes += place->waiting.bytes;
    if (in_front)
        prepend(flow, place);
    else
        append(flow, place);
}

struct waiting flow_take(struct fair_queue *queue, struct place *place)
{
    struct flow *flow = place->waiting.flow;

    detach(flow, place);
    flow->bytes -= place->waiting.bytes;
    if (--flow->n == 0) {
        ring_remove(queue, flow);
        idle_add(queue, flow);
    }
    return give_up_place(queue, place);
}

void flow_used(struct fair_queue *queue, struct flow *flow)
{
    idle_remove(queue, flow);
    idle_add(queue, flow);
}

/* -- life ------------------------------------------------------------------------------------ */

void flows_init(struct fair_queue *queue, size_t n_places)
{
    const size_t n_flows = n_places + 1;
    size_t n_buckets = 1;

    while (n_buckets < n_flows)
        n_buckets *= 2;
    queue->places = heap_zeroed(n_places, sizeof(struct place));
    queue->flows = heap_zeroed(n_flows, sizeof(struct flow));
    queue->table = heap_zeroed(n_buckets, sizeof(struct flow *));
    queue->table_mask = n_buckets - 1;
    for (size_t i = 0; i < n_places; i++) {
        queue->places[i].next = queue->free_places;
        queue->free_places = &queue->places[i];
    }
    for (size_t i = 0; i < n_flows; i++)
        idle_add(queue, &queue->flows[i]);
}

void flows_release(struct fair_queue *queue)
{
    free(queue->places);
    free(queue->flows);
    free(queue->table);
}

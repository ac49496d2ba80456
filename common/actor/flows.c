#include "common/actor/flows.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/base/str.h"

/* -- flows ----------------------------------------------------------------------------------- */

static struct flow **bucket_of(const struct flows *flows, const struct uuid *organization)
{
    return &flows->table[hash_key(organization->b, 0) & flows->table_mask];
}

static void table_remove(struct flows *flows, const struct flow *flow)
{
    struct flow **at = bucket_of(flows, &flow->organization);

    while (*at != NULL && *at != flow)
        at = &(*at)->next_in_table;
    if (*at != NULL) /* one that was never used is in no bucket */
        *at = (*at)->next_in_table;
}

/* There is always one: there are more flows than places for messages that wait or are not charged
   yet. */
static struct flow *least_lately_used(const struct flows *flows)
{
    struct flow *flow;

    LIST_EACH(flow, &flows->idle, link)
        if (flow->n_all == 0)
            return flow;
    must(false);
    return NULL;
}

struct flow *flow_of(struct flows *flows, const struct uuid *organization)
{
    struct flow **bucket = bucket_of(flows, organization), *flow = *bucket;

    while (flow != NULL && !uuid_equal(&flow->organization, organization))
        flow = flow->next_in_table;
    if (flow != NULL)
        return flow;
    flow = least_lately_used(flows);
    table_remove(flows, flow);
    list_remove(&flow->link);
    *flow = (struct flow){.organization = *organization, .cost = 1, .next_in_table = *bucket};
    *bucket = flow;
    list_init(&flow->messages);
    list_add(&flows->idle, &flow->link);
    return flow;
}

void flow_used(struct flows *flows, struct flow *flow)
{
    list_remove(&flow->link);
    list_add(&flows->idle, &flow->link);
}

/* -- messages -------------------------------------------------------------------------------- */

struct waiting *waiting_new(struct flows *flows, struct flow *flow, const struct waiting *waiting)
{
    struct waiting *own = LIST_FIRST(&flows->free_places, struct waiting, link);

    must(own != NULL);
    list_remove(&own->link);
    *own = *waiting;
    own->link = (struct list){NULL, NULL};
    own->flow = flow;
    flow->n_all++;
    return own;
}

void waiting_free(struct flows *flows, struct waiting *waiting)
{
    must(waiting->flow->n_all > 0);
    waiting->flow->n_all--;
    list_add_first(&flows->free_places, &waiting->link);
}

void flow_put(struct flows *flows, struct waiting *waiting, bool in_front)
{
    struct flow *flow = waiting->flow;

    if (flow->n++ == 0) {
        list_remove(&flow->link);
        list_add(&flows->ring, &flow->link);
        flows->n++;
    }
    flow->bytes += waiting->bytes;
    flows->bytes += waiting->bytes;
    flows->n_messages++;
    if (in_front)
        list_add_first(&flow->messages, &waiting->link);
    else
        list_add(&flow->messages, &waiting->link);
}

void flow_take(struct flows *flows, struct waiting *waiting)
{
    struct flow *flow = waiting->flow;

    list_remove(&waiting->link);
    flow->bytes -= waiting->bytes;
    flows->bytes -= waiting->bytes;
    flows->n_messages--;
    if (--flow->n == 0) {
        flows->n--;
        flow_used(flows, flow);
    }
}

/* -- life ------------------------------------------------------------------------------------ */

void flows_init(struct flows *flows, size_t n_places)
{
    const size_t n_flows = n_places + 1;
    size_t n_buckets = 1;

    while (n_buckets < n_flows)
        n_buckets *= 2;
    *flows = (struct flows){.table_mask = n_buckets - 1};
    flows->places = heap_zeroed(n_places, sizeof(struct waiting));
    flows->all = heap_zeroed(n_flows, sizeof(struct flow));
    flows->table = heap_zeroed(n_buckets, sizeof(struct flow *));
    list_init(&flows->ring);
    list_init(&flows->idle);
    list_init(&flows->free_places);
    for (size_t i = 0; i < n_places; i++)
        list_add_first(&flows->free_places, &flows->places[i].link);
    for (size_t i = 0; i < n_flows; i++)
        list_add(&flows->idle, &flows->all[i].link);
}

void flows_release(struct flows *flows)
{
    free(flows->places);
    free(flows->all);
    free(flows->table);
}

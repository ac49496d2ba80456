#include "common/actor/fair_queue.h"

#include "common/actor/flows.h"
#include "common/base/log.h"

enum {
    UNKNOWN_MAX = 4,                   /* taken at once from a flow whose costs are unknown */
    DEBT_MAX = 1000000 / FAIR_UNIT_US, /* a second of the flow's own share of time */
    FORGET_SHIFT = 2,                  /* the expected cost falls by a quarter of the difference */
};

/* -- coming in ------------------------------------------------------------------------------- */

/* In bytes or messages, whichever is over its limit. */
static size_t weight_of(const struct flow *flow, bool by_bytes)
{
    return by_bytes ? flow->bytes : flow->n;
}

static struct flow *heaviest(const struct fair_queue *queue, bool by_bytes)
{
    struct flow *flow = queue->current, *max = flow;

    for (size_t i = 0; i < queue->n_flows; i++, flow = flow->next)
        if (weight_of(flow, by_bytes) > weight_of(max, by_bytes))
            max = flow;
    return max;
}

bool fair_queue_add(struct fair_queue *queue, const struct uuid *organization,
                    const struct waiting *waiting, struct waiting *excess)
{
    const bool is_full =
        queue->n - queue->n_put_back >= queue->max || queue->n >= queue->max + PUT_BACK_MAX;
    const bool by_bytes = !is_full && queue->bytes + waiting->bytes > queue->max_bytes;
    struct flow *flow = flow_of(queue, organization), *max;
    struct waiting own = *waiting;

    own.flow = flow;
    if (!is_full && !by_bytes) {
        flow_put(queue, place_for(queue, &own), own.since_us, false);
        return false;
    }
    max = heaviest(queue, by_bytes);
    /* NULL: all messages are put back, and none waits in a flow. */
    if (max == NULL || max == flow ||
        weight_of(flow, by_bytes) + (by_bytes ? own.bytes : 1) >= weight_of(max, by_bytes)) {
        *excess = own;
    } else {
        *excess = flow_take(queue, max->last);
        max->n_open -= excess->n_tries > 0;
    }
    return true;
}

bool fair_queue_put_back(struct fair_queue *queue, const struct waiting *waiting)
{
    struct place *place;

    if (queue->n_put_back == PUT_BACK_MAX)
        return false;
    place = place_for(queue, waiting);
    place->next = queue->put_back;
    queue->put_back = place;
    queue->n_put_back++;
    return true;
}

void fair_queue_give_back(struct fair_queue *queue, const struct waiting *waiting, int64_t now_us)
{
    flow_put(queue, place_for(queue, waiting), now_us, true);
    if (waiting->n_tries == 0)
        waiting->flow->n_open--;
}

bool fair_queue_remove(struct fair_queue *queue, struct flow *flow, struct waiting *out)
{
    if (flow->n == 0)
        return false;
    *out = flow_take(queue, flow->first);
    flow->n_open -= out->n_tries > 0;
    return true;
}

const struct uuid *fair_queue_organization(const struct flow *flow)
{
    return &flow->organization;
}

/* -- batches --------------------------------------------------------------------------------- */

static void wake(struct fair_queue *queue, int64_t now_us)
{
    struct place **at = &queue->put_back;

    while (*at != NULL) {
        struct place *place = *at;

        if (place->waiting.due_us > now_us) {
            at = &place->next;
            continue;
        }
        *at = place->next;
        queue->n_put_back--;
        flow_put(queue, place, now_us, true);
    }
}

/* How many commands of one flow may be in a batch. */
static size_t share_of(const struct flow *flow, size_t max, bool is_alone)
{
    if (!flow->is_known && max > UNKNOWN_MAX)
        return UNKNOWN_MAX;
    return is_alone ? max : (max + 1) / 2;
}

/* If every waiting flow is in debt, takes the smallest debt off each. */
static void refund(struct fair_queue *queue)
{
    struct flow *flow = queue->current;
    uint32_t min = UINT32_MAX;

    for (size_t i = 0; i < queue->n_flows; i++, flow = flow->next)
        min = flow->debt < min ? flow->debt : min;
    for (size_t i = 0; i < queue->n_flows; i++, flow = flow->next)
        flow->debt -= min;
}

/* Each round of the last batch earned a flow one unit. The batch took longer than its commands were
   expected to cost, and the flows that waited have earned a share of that time too. */
static void pay(struct fair_queue *queue, int64_t now_us)
{
    const int64_t units = (now_us - queue->taken_us) / FAIR_UNIT_US / (int64_t)queue->n_flows;
    const int64_t more = units - queue->n_rounds;
    struct flow *flow = queue->current;

    for (size_t i = 0; i < queue->n_flows && more > 0; i++, flow = flow->next)
        flow->debt = more < flow->debt ? flow->debt - (uint32_t)more : 0;
    queue->taken_us = now_us;
    queue->n_rounds = 0;
}

struct batch {
    size_t n, max, bytes;
    uint32_t cost;
    bool is_alone, is_full;
    struct waiting *out;
};

static bool exceeds(const struct fair_queue *queue, const struct batch *batch,
                    const struct flow *flow)
{
    return batch->n > 0 &&
           (batch->cost + flow->cost > BATCH_COST ||
            batch->bytes + flow->first->waiting.bytes + flow->reply > queue->batch_bytes);
}

static void take_one(struct fair_queue *queue, struct batch *batch, struct flow *flow)
{
    struct waiting taken = flow_take(queue, flow->first);

    batch->cost += flow->cost;
    batch->bytes += taken.bytes + flow->reply;
    batch->out[batch->n++] = taken;
    flow->n_taken++;
    flow->n_open += taken.n_tries == 0;
}

/* Takes those past their deadline, which are in front. Returns how many. */
static size_t take_late(struct fair_queue *queue, size_t max, int64_t now_us, struct waiting *out)
{
    struct flow *flow = queue->current;
    size_t n = 0;

    for (size_t left = queue->n_flows; left > 0; left--) {
        struct flow *const next = flow->next;

        while (n < max && flow->n > 0 && flow->first->waiting.until_us > 0 &&
               flow->first->waiting.until_us <= now_us) {
            out[n] = flow_take(queue, flow->first);
            flow->n_open += out[n++].n_tries == 0;
        }
        flow = next;
    }
    return n;
}

static bool may_take(const struct flow *flow, const struct batch *batch)
{
    return flow->debt == 0 && flow->n_taken < share_of(flow, batch->max, batch->is_alone);
}

static bool may_take_any(const struct fair_queue *queue, const struct batch *batch)
{
    const struct flow *flow = queue->current;
    size_t left = queue->n_flows;

    for (; left > 0 && !may_take(flow, batch); left--)
        flow = flow->next;
    return left > 0;
}

/* Takes one command from each flow that is not in debt. */
static void go_round(struct fair_queue *queue, struct batch *batch)
{
    queue->n_rounds++;
    for (size_t left = queue->n_flows; left > 0 && !batch->is_full; left--) {
        struct flow *flow = queue->current;

        if (flow->debt > 0) {
            flow->debt--;
        } else if (may_take(flow, batch)) {
            batch->is_full = exceeds(queue, batch, flow);
            if (batch->is_full)
                return; /* its turn comes first in the next batch */
            take_one(queue, batch, flow);
            batch->is_full = batch->n == batch->max;
        }
        if (queue->current == flow)
            queue->current = flow->next;
    }
}

size_t fair_queue_take(struct fair_queue *queue, size_t max, int64_t now_us, struct waiting *out)
{
    struct batch batch = {0};
    struct flow *flow;
    size_t n_late;

    wake(queue, now_us);
    n_late = take_late(queue, max, now_us, out);
    if (queue->n_flows == 0 || n_late == max)
        return n_late;
    pay(queue, now_us);
    batch.max = max - n_late;
    batch.out = out + n_late;
    batch.is_alone = queue->n_flows == 1;
    flow = queue->current;
    for (size_t i = 0; i < queue->n_flows; i++, flow = flow->next)
        flow->n_taken = 0;
    refund(queue);
    while (!batch.is_full && may_take_any(queue, &batch))
        go_round(queue, &batch);
    return n_late + batch.n;
}

static void learn(struct flow *flow, uint32_t cost, size_t bytes)
{
    const uint32_t more = cost - 1;

    flow->debt = more < DEBT_MAX - flow->debt ? flow->debt + more : DEBT_MAX;
    flow->cost = cost > flow->cost ? cost : flow->cost - ((flow->cost - cost) >> FORGET_SHIFT);
    flow->reply =
        bytes > flow->reply ? bytes : flow->reply - ((flow->reply - bytes) >> FORGET_SHIFT);
    flow->is_known = true;
}

void fair_queue_expect(struct flow *flow, size_t bytes)
{
    if (bytes > flow->reply)
        flow->reply = bytes;
}

void fair_queue_charge(struct fair_queue *queue, struct flow *flow, uint32_t cost, size_t bytes,
                       int64_t now_us)
{
    must(flow->n_open > 0);
    flow->n_open--;
    if (cost > 0)
        learn(flow, cost, bytes);
    flow->seen_us = now_us;
    if (flow->n == 0)
        flow_used(queue, flow);
}

int64_t fair_queue_due_in(const struct fair_queue *queue, int64_t now_us)
{
    int64_t due_us = INT64_MAX;

    if (queue->n_flows > 0)
        return 0;
    if (queue->put_back == NULL)
        return -1;
    for (const struct place *at = queue->put_back; at != NULL; at = at->next)
        due_us = at->waiting.due_us < due_us ? at->waiting.due_us : due_us;
    return due_us > now_us ? due_us - now_us : 0;
}

/* -- life ------------------------------------------------------------------------------------ */

void fair_queue_init(struct fair_queue *queue, size_t max, size_t max_bytes, size_t taken_max,
                     size_t batch_bytes)
{
    *queue = (struct fair_queue){
        .max = max,
        .max_bytes = max_bytes,
        .batch_bytes = batch_bytes,
    };
    /* All that is taken can be given back, however much has come in meanwhile. */
    flows_init(queue, max + PUT_BACK_MAX + taken_max);
}

void fair_queue_release(struct fair_queue *queue)
{
    flows_release(queue);
}

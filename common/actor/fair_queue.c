#include "common/actor/fair_queue.h"

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
    struct flow *flow, *max = NULL;

    LIST_EACH(flow, &queue->flows.ring, link)
        if (max == NULL || weight_of(flow, by_bytes) > weight_of(max, by_bytes))
            max = flow;
    return max;
}

static struct waiting remove_one(struct fair_queue *queue, struct waiting *waiting)
{
    struct waiting removed;

    must(waiting != NULL); /* flows in the ring have one */
    removed = *waiting;
    flow_take(&queue->flows, waiting);
    waiting_free(&queue->flows, waiting);
    return removed;
}

/* An idle flow pays off its debt in the time that another could have used. */
static void pay_off(struct flow *flow, int64_t now_us)
{
    const int64_t paid = (now_us - flow->seen_us) / FAIR_UNIT_US;

    if (paid > 0)
        flow->debt = paid < flow->debt ? flow->debt - (uint32_t)paid : 0;
}

bool fair_queue_add(struct fair_queue *queue, const struct uuid *organization,
                    const struct waiting *waiting, struct waiting *excess)
{
    struct flows *flows = &queue->flows;
    const bool is_full = flows->n_messages >= queue->max;
    const bool by_bytes =
        !is_full && flows->bytes + queue->bytes_put_back + waiting->bytes > queue->max_bytes;
    struct flow *flow = flow_of(flows, organization), *max;

    if (!is_full && !by_bytes) {
        if (flow->n_all == 0)
            pay_off(flow, waiting->since_us);
        flow_put(flows, waiting_new(flows, flow, waiting), false);
        return false;
    }
    max = heaviest(queue, by_bytes);
    /* NULL: all messages are put back, and none waits in a flow. */
    if (max == NULL || max == flow ||
        weight_of(flow, by_bytes) + (by_bytes ? waiting->bytes : 1) >= weight_of(max, by_bytes))
        *excess = *waiting;
    else
        *excess = remove_one(queue, LIST_LAST(&max->messages, struct waiting, link));
    return true;
}

bool fair_queue_put_back(struct fair_queue *queue, struct waiting *waiting)
{
    if (queue->n_put_back == PUT_BACK_MAX)
        return false;
    list_add_first(&queue->put_back, &waiting->link);
    queue->n_put_back++;
    queue->bytes_put_back += waiting->bytes;
    return true;
}

void fair_queue_give_back(struct fair_queue *queue, struct waiting *waiting)
{
    flow_put(&queue->flows, waiting, true);
}

struct waiting fair_queue_remove(struct fair_queue *queue, struct flow *flow)
{
    return remove_one(queue, flow_first(flow));
}

size_t fair_queue_waiting(const struct fair_queue *queue)
{
    return queue->flows.n_messages + queue->n_put_back;
}

/* -- batches --------------------------------------------------------------------------------- */

static void wake(struct fair_queue *queue, int64_t now_us)
{
    struct waiting *waiting;

    LIST_EACH(waiting, &queue->put_back, link) {
        if (waiting->due_us > now_us)
            continue;
        list_remove(&waiting->link);
        queue->n_put_back--;
        queue->bytes_put_back -= waiting->bytes;
        flow_put(&queue->flows, waiting, true);
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
    uint32_t min = UINT32_MAX;
    struct flow *flow;

    LIST_EACH(flow, &queue->flows.ring, link)
        min = flow->debt < min ? flow->debt : min;
    LIST_EACH(flow, &queue->flows.ring, link)
        flow->debt -= min;
}

/* Each round of the last batch earned a flow one unit. The batch took longer than its commands were
   expected to cost, and the flows that waited have earned a share of that time too. */
static void pay(struct fair_queue *queue, int64_t now_us)
{
    const int64_t units = (now_us - queue->taken_us) / FAIR_UNIT_US / (int64_t)queue->flows.n;
    const int64_t more = units - queue->n_rounds;
    struct flow *flow;

    if (more > 0)
        LIST_EACH(flow, &queue->flows.ring, link)
            flow->debt = more < flow->debt ? flow->debt - (uint32_t)more : 0;
    queue->taken_us = now_us;
    queue->n_rounds = 0;
}

/* The batch that is being taken. */
struct taking {
    size_t n, max, bytes;
    uint32_t cost;
    bool is_alone, is_full;
    struct waiting **out;
};

static bool exceeds(const struct fair_queue *queue, const struct taking *taking,
                    const struct flow *flow)
{
    return taking->n > 0 &&
           (taking->cost + flow->cost > BATCH_COST ||
            taking->bytes + flow_first(flow)->bytes + flow->reply > queue->batch_bytes);
}

static struct waiting *take_first(struct fair_queue *queue, struct flow *flow)
{
    struct waiting *first = flow_first(flow);

    flow_take(&queue->flows, first);
    return first;
}

static void take_one(struct fair_queue *queue, struct taking *taking, struct flow *flow)
{
    struct waiting *taken = take_first(queue, flow);

    taking->cost += flow->cost;
    taking->bytes += taken->bytes + flow->reply;
    taking->out[taking->n++] = taken;
    flow->n_taken++;
}

static bool is_late(const struct waiting *waiting, int64_t now_us)
{
    return waiting->until_us > 0 && waiting->until_us <= now_us;
}

/* Takes those past their deadline, which are in front. Returns how many. */
static size_t take_late(struct fair_queue *queue, size_t max, int64_t now_us, struct waiting **out)
{
    struct flow *flow;
    size_t n = 0;

    LIST_EACH(flow, &queue->flows.ring, link)
        while (n < max && flow->n > 0 && is_late(flow_first(flow), now_us))
            out[n++] = take_first(queue, flow);
    return n;
}

static bool may_take(const struct flow *flow, const struct taking *taking)
{
    return flow->debt == 0 && flow->n_taken < share_of(flow, taking->max, taking->is_alone);
}

static bool may_take_any(const struct fair_queue *queue, const struct taking *taking)
{
    const struct flow *flow;

    LIST_EACH(flow, &queue->flows.ring, link)
        if (may_take(flow, taking))
            return true;
    return false;
}

/* Takes one command from each flow that is not in debt. */
static void go_round(struct fair_queue *queue, struct taking *taking)
{
    queue->n_rounds++;
    for (size_t left = queue->flows.n; left > 0 && !taking->is_full; left--) {
        struct flow *flow = LIST_FIRST(&queue->flows.ring, struct flow, link);

        if (flow->debt > 0) {
            flow->debt--;
        } else if (may_take(flow, taking)) {
            taking->is_full = exceeds(queue, taking, flow);
            if (taking->is_full)
                return; /* its turn comes first in the next batch */
            take_one(queue, taking, flow);
            taking->is_full = taking->n == taking->max;
        }
        if (flow->n > 0) {
            list_remove(&flow->link);
            list_add(&queue->flows.ring, &flow->link);
        }
    }
}

size_t fair_queue_take(struct fair_queue *queue, size_t max, int64_t now_us, struct waiting **out)
{
    struct taking taking = {0};
    struct flow *flow;
    size_t n_late;

    wake(queue, now_us);
    n_late = take_late(queue, max, now_us, out);
    if (queue->flows.n == 0 || n_late == max)
        return n_late;
    pay(queue, now_us);
    taking.max = max - n_late;
    taking.out = out + n_late;
    taking.is_alone = queue->flows.n == 1;
    LIST_EACH(flow, &queue->flows.ring, link)
        flow->n_taken = 0;
    refund(queue);
    while (!taking.is_full && may_take_any(queue, &taking))
        go_round(queue, &taking);
    return n_late + taking.n;
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

void fair_queue_expect(struct waiting *waiting, size_t bytes)
{
    if (bytes > waiting->flow->reply)
        waiting->flow->reply = bytes;
}

void fair_queue_end(struct fair_queue *queue, struct waiting *waiting, uint32_t cost, size_t bytes,
                    int64_t now_us)
{
    struct flow *flow = waiting->flow;

    waiting_free(&queue->flows, waiting);
    if (cost > 0)
        learn(flow, cost, bytes);
    flow->seen_us = now_us;
    if (flow->n == 0)
        flow_used(&queue->flows, flow);
}

int64_t fair_queue_due_in(const struct fair_queue *queue, int64_t now_us)
{
    const struct waiting *waiting;
    int64_t due_us = INT64_MAX;

    if (queue->flows.n > 0)
        return 0;
    if (list_is_empty(&queue->put_back))
        return -1;
    LIST_EACH(waiting, &queue->put_back, link)
        due_us = waiting->due_us < due_us ? waiting->due_us : due_us;
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
    list_init(&queue->put_back);
    /* All that is taken can be given back, however much has come in meanwhile. */
    flows_init(&queue->flows, max + PUT_BACK_MAX + taken_max);
}

void fair_queue_release(struct fair_queue *queue)
{
    flows_release(&queue->flows);
}

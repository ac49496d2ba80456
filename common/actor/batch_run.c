#include "common/actor/batch_run.h"

#include "common/actor/actor_internal.h"
#include "common/actor/batch_recover.h"
#include "common/actor/command_read.h"
#include "common/actor/command_reply.h"
#include "common/actor/transaction.h"
#include "common/base/clock.h"

/* False: it needs no transaction and has been answered. */
static bool begin(struct batch *batch, struct waiting *from, struct batch_item *item)
{
    const struct actor *actor = batch->actor;

    if (!command_read(from, &batch->arena, item))
        command_reply_failed(batch, item, OUTCOME_UNKNOWN_COMMAND);
    else if (command_is_expired(&item->command))
        command_expire(batch, item);
    else if (actor->membership.has_left || !db_is_up(batch->db))
        command_reply_failed(batch, item, OUTCOME_UNAVAILABLE);
    else
        return true;
    return false;
}

/* Takes the next commands from the queue, and keeps those that must run. */
static void take(struct batch *batch)
{
    struct actor *actor = batch->actor;
    struct waiting **taken = ARENA_ARRAY(&batch->arena, struct waiting *, actor->batch_now);
    const size_t n = fair_queue_take(&actor->queue, actor->batch_now, clock_mono_us(), taken);
    struct batch_item *all = ARENA_ARRAY(&batch->arena, struct batch_item, n);

    batch->items = ARENA_ARRAY(&batch->arena, struct batch_item *, n);
    batch->n = 0;
    batch->deadline_us = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        all[i].arrival = i;
        if (!begin(batch, taken[i], &all[i]))
            continue;
        batch->items[batch->n++] = &all[i];
        if (all[i].command.deadline_us < batch->deadline_us)
            batch->deadline_us = all[i].command.deadline_us;
    }
    if (actor->is_slow_lane)
        metric_add(actor->metrics->slow_lane, (int64_t)batch->n);
}

/* A late answer helps no client: if a batch ends after the deadline of any of its commands, later
   batches take half as many, and one more after each full batch that is in time. */
static void end(struct batch *batch)
{
    struct actor *actor = batch->actor;

    if (batch->deadline_us <= clock_us())
        actor->batch_now = (batch->n + 1) / 2;
    else if (batch->n >= actor->batch_now && batch->n < actor->batch_max)
        actor->batch_now++;
    arena_clear(&batch->arena);
    batch->phase = BATCH_IDLE;
}

/* Goes on as long as nothing has to be waited for. */
static void go_on(struct batch *batch, enum status st)
{
    while (st == ST_OK && batch->phase != BATCH_IDLE && db_is_ready(batch->db))
        st = transaction_advance(batch);
    if (st != ST_OK) {
        batch_recover(batch, st);
        end(batch);
    } else if (batch->phase == BATCH_IDLE) {
        commands_settle(batch, batch->items, batch->n);
        end(batch);
    }
}

void batch_begin(struct batch *batch)
{
    batch->noticed = NULL;
    batch->replied_bytes = 0;
    take(batch);
    batch->start_us = clock_mono_us();
    if (batch->n > 0)
        go_on(batch, transaction_begin(batch, batch->items, batch->n));
    else
        arena_clear(&batch->arena);
}

void batch_advance(struct batch *batch)
{
    go_on(batch, transaction_advance(batch));
}

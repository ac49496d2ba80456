#include "common/actor/timing.h"

#include "common/actor/actor_internal.h"
#include "common/base/clock.h"

enum {
    BESIDE_SHARE = 2,
    BESIDE_AFTER_US = 5 * 1000,
    REST_MAX_US = 1000 * 1000,
    /* 50 ms for each MB. Next to a client that got pages of 6 MB, a neighbour's p99 was 14 to 18 ms
       with this and 17 to 20 ms without (tests/long/expensive_organization_test.c). */
    CARRIED_BYTES_A_US = 20,

    /* How long a step sleeps */
    QUIET_MS = 10 * 1000, /* when nothing is due, */
    MISSING_MS = 1000,    /* without the bus, or with one of two connections to the database, */
    RETRY_MS = 100,       /* without a database, */
    UNSENT_MS = 1,        /* while the bus' socket does not take everything, */
    DRAIN_MS = 10,        /* while it waits for the last commands, */
    UNDER_WAY_MS = 20,    /* and while a batch runs, as its deadline may pass */
};

/* -- when a batch begins --------------------------------------------------------------------- */

struct batch *timing_idle_batch(struct actor *actor)
{
    for (size_t i = 0; i < actor->n_batches; i++)
        if (actor->batches[i].phase == BATCH_IDLE && db_is_up(actor->batches[i].db))
            return &actor->batches[i];
    return NULL;
}

const struct batch *timing_running_batch(const struct actor *actor)
{
    for (size_t i = 0; i < actor->n_batches; i++)
        if (actor->batches[i].phase != BATCH_IDLE)
            return &actor->batches[i];
    return NULL;
}

/* How long the next batch waits for the one that is running. */
static int64_t beside_wait_us(struct actor *actor, int64_t now_us)
{
    const struct batch *other = timing_running_batch(actor);

    if (other == NULL)
        return 0;
    if (timing_idle_batch(actor) == NULL)
        return INT64_MAX;
    if (fair_queue_waiting(&actor->queue) * BESIDE_SHARE >= other->n)
        return 0;
    return other->start_us + BESIDE_AFTER_US > now_us ? other->start_us + BESIDE_AFTER_US - now_us
                                                      : 0;
}

void timing_rest(struct actor *actor, const struct batch *batch)
{
    const int64_t now_us = clock_mono_us();
    const int64_t took_us =
        now_us - batch->start_us + (int64_t)(batch->replied_bytes / CARRIED_BYTES_A_US);

    actor->rest_until_us = now_us + (took_us < REST_MAX_US ? took_us : REST_MAX_US);
}

/* When the actor stops, the commands that wait run without a rest. */
static int64_t rest_left_us(const struct actor *actor, int64_t now_us)
{
    const bool may_rest = actor->is_slow_lane && !atomic_load(&actor->is_stopping);

    return may_rest && actor->rest_until_us > now_us ? actor->rest_until_us - now_us : 0;
}

bool timing_may_begin(struct actor *actor)
{
    const int64_t now_us = clock_mono_us();

    return fair_queue_waiting(&actor->queue) > 0 && rest_left_us(actor, now_us) == 0 &&
           beside_wait_us(actor, now_us) == 0;
}

/* -- how long a step sleeps ------------------------------------------------------------------ */

static int idle_ms(const struct actor *actor, int64_t now_us)
{
    if (atomic_load(&actor->is_stopping))
        return DRAIN_MS;
    if (timing_running_batch(actor) != NULL)
        return UNDER_WAY_MS;
    if (!database_is_up(&actor->database))
        return RETRY_MS;
    if (actor->membership.has_left)
        return DRAIN_MS;
    if (!database_is_whole(&actor->database) || !bus_is_up(actor->bus))
        return MISSING_MS;
    return clock_left_ms(actor->upkeep.due_us, now_us, QUIET_MS);
}

int timing_sleep_ms(struct actor *actor)
{
    const int64_t now_us = clock_mono_us(), rest_us = rest_left_us(actor, now_us);
    const int64_t beside_us = beside_wait_us(actor, now_us);
    const int max_ms = idle_ms(actor, now_us);
    int64_t due_us = fair_queue_due_in(&actor->queue, now_us);

    if (actor->has_unsent)
        return UNSENT_MS; /* no batch begins before they are sent */
    if (due_us >= 0 && due_us < rest_us)
        due_us = rest_us;
    if (due_us >= 0 && due_us < beside_us)
        due_us = beside_us;
    return due_us < 0 ? max_ms : clock_left_ms(due_us, 0, max_ms);
}

#include "common/actor/actor.h"

#include <poll.h>
#include <stdlib.h>

#include "common/actor/actor_internal.h"
#include "common/actor/batch_run.h"
#include "common/actor/intake.h"
#include "common/actor/timing.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"

enum {
    BATCH_MAX = 128,
    MAILBOX_MAX = 1024,
    MAILBOX_BYTES = 16 * 1024 * 1024,
    /* Bodies and replies; a batch takes three times as much memory. */
    BATCH_BYTES = 8 * 1024 * 1024,
    ARENA_MAX = 1024 * 1024 * 1024, /* several times a batch of the largest replies */
    FINISH_US = 10 * 1000 * 1000,
    SLOW_BATCH_MAX = 16, /* the slow lane's commands fill a batch with fewer */
};

/* -- running batches --------------------------------------------------------------------------- */

static void begin_waiting(struct actor *actor)
{
    struct batch *idle = timing_idle_batch(actor);

    /* Without a connection it refuses the commands. */
    if (timing_may_begin(actor))
        batch_begin(idle != NULL ? idle : &actor->batches[0]);
}

static void advance(struct actor *actor, struct batch *batch)
{
    batch_advance(batch);
    actor->has_unsent = !bus_flush(actor->bus);
    if (batch->phase == BATCH_IDLE && actor->is_slow_lane)
        timing_rest(actor, batch);
}

/* -- the thread ------------------------------------------------------------------------------ */

/* All actors of the process share the gauges: adds the change of this actor's part. */
static void show(struct metric *metric, int64_t *shown, int64_t value)
{
    metric_add(metric, value - *shown);
    *shown = value;
}

/* `trouble` is written last: once it is NULL, the actor has joined. */
static void update_membership(struct actor *actor)
{
    struct database *database = &actor->database;
    bool are_used[BATCHES_MAX];
    const char *trouble;

    for (size_t i = 0; i < actor->n_batches; i++)
        are_used[i] = actor->batches[i].phase != BATCH_IDLE;
    trouble = database_connect(database, are_used);
    if (!atomic_load(&actor->is_stopping) && !actor->is_slow_lane)
        membership_update(&actor->membership, trouble, database_is_away(database));
    if (actor->answers_discovery && actor->discovery == NULL && actor->membership.n_mailboxes > 0)
        actor->discovery = discovery_open(actor->bus, actor->metrics, actor->name, actor->cell);
    show(actor->metrics->database_up, &actor->shown.database_up, trouble == NULL);
    atomic_store(&database->trouble, trouble);
}

static void show_all(struct actor *actor)
{
    const struct actor_metrics *metrics = actor->metrics;
    const size_t waiting =
        fair_queue_waiting(&actor->queue) + membership_waiting(&actor->membership);

    show(metrics->bus_up, &actor->shown.bus_up, bus_is_up(actor->bus));
    show(metrics->waiting, &actor->shown.waiting, (int64_t)waiting);
    show(metrics->lost_replies, &actor->shown.lost_replies, (int64_t)bus_lost_replies(actor->bus));
}

/* Must run before a batch begins: after that, under load, none would be idle. */
static void do_upkeep(struct actor *actor)
{
    const int64_t now_us = clock_mono_us();
    struct batch *idle = timing_idle_batch(actor);

    if (now_us >= actor->upkeep.due_us && idle != NULL)
        upkeep_do(&actor->upkeep, idle->db, &idle->arena, actor->discovery, now_us);
}

/* A commit's result is not read while other replies wait to be sent: the bus buffers one batch's
   replies and drops what exceeds that. */
static void wait_for_answers(struct actor *actor)
{
    struct pollfd sockets[BATCHES_MAX];

    for (size_t i = 0; i < actor->n_batches; i++) {
        const struct db *db = actor->batches[i].db;

        sockets[i] = (struct pollfd){.fd = db_socket(db), .events = db_events(db)};
        if (actor->batches[i].phase == BATCH_COMMITTING && actor->has_unsent)
            sockets[i].fd = -1;
    }
    bus_wait_with_sockets(actor->bus, sockets, actor->n_batches, timing_sleep_ms(actor));
    for (size_t i = 0; i < actor->n_batches; i++) {
        struct batch *batch = &actor->batches[i];

        if (batch->phase == BATCH_COMMITTING && actor->has_unsent && !bus_flush(actor->bus))
            continue;
        if (batch->phase != BATCH_IDLE && (sockets[i].revents != 0 || db_is_late(batch->db)) &&
            db_is_ready(batch->db))
            advance(actor, batch);
    }
}

/* The database was lost a moment ago and may soon be reachable again: commands wait for it. */
static bool may_recover(const struct actor *actor)
{
    return !database_is_up(&actor->database) && !database_is_away(&actor->database) &&
           !actor->membership.has_left && !atomic_load(&actor->is_stopping);
}

static void step(struct actor *actor)
{
    wait_for_answers(actor);
    update_membership(actor);
    intake_gather(actor);
    show_all(actor);
    do_upkeep(actor);
    /* The replies of a new batch would add to those that wait for the socket: the bus buffers one
       batch's replies and drops what exceeds that. */
    if (!may_recover(actor) && (!actor->has_unsent || bus_flush(actor->bus)))
        begin_waiting(actor);
    discovery_reply(actor->discovery, database_is_up(&actor->database));
    actor->has_unsent = !bus_flush(actor->bus);
}

/* Answers everything that was routed here before the intake closed. */
static void finish(struct actor *actor)
{
    int64_t until_us = clock_mono_us() + FINISH_US;

    membership_close_intake(&actor->membership);
    do {
        step(actor);
        if (!membership_is_drained(&actor->membership))
            membership_close_intake(&actor->membership); /* the connection may be a new one */
    } while (timing_running_batch(actor) != NULL ||
             ((fair_queue_waiting(&actor->queue) > 0 ||
               !membership_is_drained(&actor->membership) || actor->has_unsent) &&
              clock_mono_us() < until_us));
}

static void *run(void *closure)
{
    struct actor *actor = closure;

    watchdog_begin(actor->name);
    update_membership(actor);
    while (!atomic_load(&actor->is_stopping))
        step(actor);
    finish(actor);
    watchdog_end();
    return NULL;
}

/* -- starting and stopping ------------------------------------------------------------------- */

static void init_batches(struct actor *actor, const struct actor_options *options)
{
    const struct service *service = options->service;

    actor->batch_max = service->batch_max > 0 ? service->batch_max : BATCH_MAX;
    if (options->is_slow_lane && actor->batch_max > SLOW_BATCH_MAX)
        actor->batch_max = SLOW_BATCH_MAX;
    actor->batch_now = actor->batch_max;
    actor->n_batches = options->batches > 0 ? options->batches : service->batches;
    if (actor->n_batches == 0 || options->is_slow_lane)
        actor->n_batches = 1;
    must(actor->n_batches <= BATCHES_MAX);
    for (size_t i = 0; i < actor->n_batches; i++) {
        actor->batches[i].actor = actor;
        arena_init(&actor->batches[i].arena, ARENA_MAX);
    }
}

static struct actor *make_actor(const struct actor_options *options)
{
    const size_t mailbox_max = options->mailbox_max > 0 ? options->mailbox_max : MAILBOX_MAX;
    struct actor *actor = heap_zeroed(1, sizeof(*actor));

    actor->service = options->service;
    actor->name = options->name;
    actor->cell = options->cell;
    actor->is_slow_lane = options->is_slow_lane;
    actor->metrics = options->metrics;
    actor->route_metrics = actor_metrics_of(options->metrics, options->service);
    actor->answers_discovery = options->is_first && options->service == options->metrics->service;
    init_batches(actor, options);
    fair_queue_init(&actor->queue, mailbox_max, MAILBOX_BYTES, actor->n_batches * actor->batch_max,
                    BATCH_BYTES);
    return actor;
}

static void release(struct actor *actor)
{
    struct waiting *left;

    while (fair_queue_take(&actor->queue, 1, INT64_MAX, &left) > 0)
        bus_message_free(left->message);
    if (actor->is_slow_lane)
        slow_lane_free(actor->slow_lane);
    discovery_free(actor->discovery);
    membership_release(&actor->membership);
    bus_free(actor->bus);
    database_close(&actor->database);
    for (size_t i = 0; i < actor->n_batches; i++)
        arena_release(&actor->batches[i].arena);
    fair_queue_release(&actor->queue);
    free(actor);
}

static bool open_connections(struct actor *actor, const struct actor_options *options)
{
    if (!database_open(&actor->database, actor->n_batches, actor->service,
                       &(struct db_options){.url = options->database_url,
                                            .name = options->name,
                                            .on_wait = intake_on_wait,
                                            .closure = actor}))
        return false;
    actor->bus = bus_connect(&(struct bus_options){
        .url = options->bus_url, .name = options->name, .settings = options->bus_settings});
    return actor->bus != NULL;
}

struct actor *actor_start(const struct actor_options *options)
{
    struct actor *actor = make_actor(options);

    if (!open_connections(actor, options)) {
        release(actor);
        return NULL;
    }
    for (size_t i = 0; i < actor->n_batches; i++)
        actor->batches[i].db = actor->database.connections[i];
    membership_init(&actor->membership, actor->service, actor->name, actor->cell, actor->bus);
    actor->upkeep = (struct upkeep){.service = actor->service,
                                    .metrics = actor->metrics,
                                    .end_hung_sessions = actor->database.end_hung_sessions,
                                    .due_us = options->is_first ? 0 : INT64_MAX};
    /* The slow lane's own actor creates it; the service's other actors share it. */
    if (actor->is_slow_lane)
        actor->slow_lane = slow_lane_new(actor->bus, actor->queue.max, MAILBOX_BYTES);
    else if (options->slow_lane != NULL)
        actor->slow_lane = options->slow_lane->slow_lane;
    must(pthread_create(&actor->thread, NULL, run, actor) == 0);
    return actor;
}

const char *actor_database_trouble(const struct actor *actor)
{
    return atomic_load(&actor->database.trouble);
}

const char *actor_bus_trouble(const struct actor *actor)
{
    return bus_trouble_text(bus_trouble(actor->bus));
}

void actor_stop(struct actor *actor)
{
    atomic_store(&actor->is_stopping, true);
    bus_wake(actor->bus);
}

void actor_free(struct actor *actor)
{
    if (actor == NULL)
        return;
    actor_stop(actor);
    must(pthread_join(actor->thread, NULL) == 0);
    release(actor);
}

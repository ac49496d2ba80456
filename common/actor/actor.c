#include "common/actor/actor.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/actor/actor_internal.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"
#include "proto/headers.h"

enum {
    BATCH_MAX = 128,
    MAILBOX_MAX = 1024,
    MAILBOX_BYTES = 16 * 1024 * 1024,
    /* Bodies and replies; a batch takes three times as much memory. */
    BATCH_BYTES = 8 * 1024 * 1024,
    ARENA_MAX = 1024 * 1024 * 1024, /* several times a batch of the largest replies */
    QUIET_MS = 10 * 1000,           /* how long a step sleeps when nothing is due */
    MISSING_MS =
        1000,       /* the same without the bus, or with one of two connections to the database */
    RETRY_MS = 100, /* the same without a database */
    UNSENT_MS = 1,
    UNSENT_US = UNSENT_MS * 1000,
    DRAIN_MS = 10, /* how long a step sleeps while it waits for the last commands */
    FINISH_US = 10 * 1000 * 1000,
    UNDER_WAY_MS = 20, /* how long a step sleeps while a batch runs, as its deadline may pass */
    BESIDE_SHARE = 2,
    BESIDE_AFTER_US = 5 * 1000,
    SLOW_BATCH_MAX = 16, /* the slow lane's commands fill a batch with fewer */
    REST_MAX_US = 1000 * 1000,
    /* 50 ms for each MB. Next to a client that got pages of 6 MB, a neighbour's p99 was 14 to 18 ms
       with this and 17 to 20 ms without (tests/long/expensive_organization_test.c). */
    CARRIED_BYTES_A_US = 20,
};

/* -- its batches ----------------------------------------------------------------------------- */

/* The index of a batch that can begin; n_batches: there is none. */
static size_t find_idle(const struct actor *actor)
{
    size_t i = 0;

    while (i < actor->n_batches &&
           (actor->batches[i].phase != BATCH_IDLE || !db_is_up(actor->batches[i].db)))
        i++;
    return i;
}

/* The first batch that is running. NULL: none is. */
static const struct batch *batch_under_way(const struct actor *actor)
{
    for (size_t i = 0; i < actor->n_batches; i++)
        if (actor->batches[i].phase != BATCH_IDLE)
            return &actor->batches[i];
    return NULL;
}

/* How long the next batch waits for the one that is running. A second batch begins when it has at
   least one BESIDE_SHARE-th of the other's commands, or when the other has run for BESIDE_AFTER_US:
   a smaller batch costs more than a short wait. */
static int64_t beside_wait_us(const struct actor *actor, int64_t now_us)
{
    const struct batch *other = batch_under_way(actor);

    if (other == NULL)
        return 0;
    if (find_idle(actor) == actor->n_batches)
        return INT64_MAX;
    if (actor->queue.n * BESIDE_SHARE >= other->n)
        return 0;
    return other->start_us + BESIDE_AFTER_US > now_us ? other->start_us + BESIDE_AFTER_US - now_us
                                                      : 0;
}

/* -- the mailbox ----------------------------------------------------------------------------- */

static int idle_wait_ms(const struct actor *actor, int64_t now_us)
{
    if (atomic_load(&actor->is_stopping))
        return DRAIN_MS;
    if (batch_under_way(actor) != NULL)
        return UNDER_WAY_MS;
    if (!membership_has_database(actor))
        return RETRY_MS;
    if (actor->has_left)
        return DRAIN_MS;
    if (!membership_has_all_connections(actor) || !bus_is_up(actor->bus))
        return MISSING_MS;
    return clock_left_ms(actor->idle_due_us, now_us, QUIET_MS);
}

/* When the actor stops, the commands that wait run without a rest. No batch begins while replies
   wait to be sent. */
static int64_t rest_left_us(const struct actor *actor, int64_t now_us)
{
    int64_t left_us = 0;

    if (!actor->options.is_slow_lane)
        return 0;
    if (!atomic_load(&actor->is_stopping) && !slow_lane_is_hurried(actor->slow_lane))
        left_us = actor->rest_until_us - now_us;
    if (slow_lane_has_unsent(actor->slow_lane) && left_us < UNSENT_US)
        left_us = UNSENT_US;
    return left_us > 0 ? left_us : 0;
}

static int wait_ms(const struct actor *actor)
{
    const int64_t now_us = clock_mono_us(), rest_us = rest_left_us(actor, now_us);
    const int64_t beside_us = beside_wait_us(actor, now_us);
    const int idle_ms = idle_wait_ms(actor, now_us);
    int64_t due_us = fair_queue_due_in(&actor->queue, now_us);

    if (actor->has_unsent)
        return UNSENT_MS; /* no batch begins before they are sent */
    if (due_us >= 0 && due_us < rest_us)
        due_us = rest_us;
    if (due_us >= 0 && due_us < beside_us)
        due_us = beside_us;
    return due_us < 0 ? idle_ms : clock_left_ms(due_us, 0, idle_ms);
}

/* Nil if the header is missing or malformed. */
static struct uuid organization_of(struct bus_message *message)
{
    struct uuid organization = {{0}};

    (void)uuid_parse(bus_message_header(message, HEADER_ORGANIZATION), &organization);
    return organization;
}

static void admit(struct actor *actor, const struct uuid *organization,
                  const struct waiting *waiting)
{
    struct waiting excess;

    while (fair_queue_add(&actor->queue, organization, waiting, &excess)) {
        const bool is_itself = excess.message == waiting->message;

        command_reject_message(actor, &excess);
        if (is_itself)
            break;
    }
}

static void take_from(struct actor *actor, size_t at, int64_t now, int64_t since)
{
    struct bus_message *message;

    while ((message = bus_take(actor->mailboxes[at])) != NULL) {
        const struct uuid organization = organization_of(message);
        const struct waiting waiting = {.message = message,
                                        .handler = actor->service->handlers[at],
                                        .metrics = &actor->route_metrics[at],
                                        .bytes = bus_message_body(message).n,
                                        .received_us = now,
                                        .since_us = since,
                                        .until_us = message_until_us(message, now, since)};

        if (actor->slow_lane != NULL && slow_lane_has(actor->slow_lane, &organization, since))
            command_hand_over(actor, &organization, waiting);
        else
            admit(actor, &organization, &waiting);
    }
}

static void take_from_others(struct actor *actor)
{
    struct uuid organization;
    struct waiting waiting;

    while (slow_lane_take(actor->slow_lane, &organization, &waiting))
        admit(actor, &organization, &waiting);
}

static void take_in(struct actor *actor)
{
    const int64_t now = clock_us(), since = clock_mono_us();

    if (actor->options.is_slow_lane)
        take_from_others(actor);
    for (size_t i = 0; i < actor->n_mailboxes; i++)
        take_from(actor, i, now, since);
}

/* Keeps reading messages while a batch waits for the database: otherwise the NATS server would cut
   the connection off as a slow consumer, and the replies with it. */
void actor_on_wait(void *closure)
{
    struct actor *actor = closure;

    bus_wait(actor->bus, 0);
    take_in(actor);
    bus_push(actor->bus);
}

/* One read of the socket yields one buffer's worth: reads again while that brings more and the next
   batch has room for it. */
static void gather(struct actor *actor)
{
    size_t had;

    do {
        had = actor->queue.n;
        take_in(actor);
        if (actor->queue.n > had)
            bus_wait(actor->bus, 0);
    } while (actor->queue.n > had && actor->queue.n < actor->options.batch_max);
    take_in(actor);
}

/* False: it needs no batch and has been answered. */
static bool begin(struct actor *actor, const struct waiting *from, struct batch_item *item)
{
    if (!batch_item_read(actor, from, item)) {
        command_send_reply(actor, item);
    } else if (batch_item_is_expired(item)) {
        command_expire(actor, item);
    } else if (actor->has_left || !db_is_up(actor->batch->db)) {
        batch_item_fail(item, OUTCOME_UNAVAILABLE);
        command_send_reply(actor, item);
    } else if (batch_item_is_hopeless(actor, item)) {
        command_reject(actor, item);
    } else {
        return true;
    }
    return false;
}

static void begin_batch(struct actor *actor)
{
    const size_t max = actor->batch_now;
    struct waiting *taken;
    struct batch_item *all, **items;
    size_t n_taken, n = 0;

    taken = ARENA_ARRAY(&actor->batch->arena, struct waiting, max);
    n_taken = fair_queue_take(&actor->queue, max, clock_mono_us(), taken);
    all = ARENA_ARRAY(&actor->batch->arena, struct batch_item, n_taken);
    items = ARENA_ARRAY(&actor->batch->arena, struct batch_item *, n_taken);
    actor->noticed = NULL;
    for (size_t i = 0; i < n_taken; i++) {
        all[i].arrival = i;
        if (begin(actor, &taken[i], &all[i]))
            items[n++] = &all[i];
    }
    if (actor->options.is_slow_lane)
        metric_add(actor->metrics->slow_lane, (int64_t)n);
    batch_begin(actor, items, n);
}

static void rest(struct actor *actor, int64_t start_us)
{
    const int64_t now_us = clock_mono_us();
    const int64_t took_us =
        now_us - start_us + (int64_t)(actor->replied_bytes / CARRIED_BYTES_A_US);

    actor->rest_until_us = now_us + (took_us < REST_MAX_US ? took_us : REST_MAX_US);
}

static void begin_waiting(struct actor *actor)
{
    const int64_t now_us = clock_mono_us();
    const size_t idle = find_idle(actor);

    if (actor->queue.n == 0 || rest_left_us(actor, now_us) > 0 || beside_wait_us(actor, now_us) > 0)
        return;
    /* Without a connection begin() refuses them. */
    if (idle < actor->n_batches)
        actor->batch = &actor->batches[idle];
    begin_batch(actor);
}

/* -- the thread ------------------------------------------------------------------------------ */

/* Must run before a batch begins: after that, under load, none would be idle. */
static void do_upkeep(struct actor *actor)
{
    const int64_t now = clock_mono_us();
    const size_t idle = find_idle(actor);

    if (now < actor->idle_due_us || idle == actor->n_batches)
        return;
    actor->batch = &actor->batches[idle];
    actor->idle_due_us = upkeep_do(actor, now);
}

/* After a batch the slow lane rests for as long as the batch took, here and then in the bus, the
   gateway and the client: it uses half of a processor at most, whatever the load. */
static void advance(struct actor *actor, struct batch *batch)
{
    const int64_t start_us = batch->start_us;

    actor->batch = batch;
    actor->noticed = NULL;
    actor->replied_bytes = 0;
    batch_advance(actor);
    actor->has_unsent = !bus_flush(actor->bus);
    if (batch->phase == BATCH_IDLE && actor->options.is_slow_lane)
        rest(actor, start_us);
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
    bus_wait_with_sockets(actor->bus, sockets, actor->n_batches, wait_ms(actor));
    for (size_t i = 0; i < actor->n_batches; i++) {
        struct batch *batch = &actor->batches[i];

        if (batch->phase == BATCH_COMMITTING && actor->has_unsent && !bus_flush(actor->bus))
            continue;
        if (batch->phase != BATCH_IDLE && (sockets[i].revents != 0 || db_is_late(batch->db)) &&
            db_is_ready(batch->db))
            advance(actor, batch);
    }
}

static void step(struct actor *actor)
{
    wait_for_answers(actor);
    membership_update(actor);
    gather(actor);
    membership_update_gauges(actor);
    do_upkeep(actor);
    /* The replies of a new batch would add to those that wait for the socket: the bus buffers one
       batch's replies and drops what exceeds that. */
    if (!membership_may_recover(actor) && (!actor->has_unsent || bus_flush(actor->bus)))
        begin_waiting(actor);
    membership_reply_to_discovery(actor);
    actor->has_unsent = !bus_flush(actor->bus);
    if (actor->reply_queue != NULL)
        command_send_slow_replies(actor);
}

static bool is_replying(const struct actor *actor)
{
    return actor->has_unsent ||
           (actor->reply_queue != NULL && reply_queue_is_awaited(actor->reply_queue));
}

/* Answers everything that was routed here before the intake closed. */
static void finish(struct actor *actor)
{
    int64_t until_us = clock_mono_us() + FINISH_US;

    membership_close_intake(actor);
    if (actor->reply_queue != NULL)
        slow_lane_hurry(actor->slow_lane);
    do {
        step(actor);
        if (!membership_is_drained(actor))
            membership_close_intake(actor); /* the connection may be a new one */
    } while (batch_under_way(actor) != NULL ||
             ((actor->queue.n > 0 || !membership_is_drained(actor) || is_replying(actor)) &&
              clock_mono_us() < until_us));
}

static void *run(void *closure)
{
    struct actor *actor = closure;

    watchdog_begin(actor->options.name);
    membership_update(actor);
    while (!atomic_load(&actor->is_stopping))
        step(actor);
    finish(actor);
    watchdog_end();
    return NULL;
}

/* -- starting and stopping ------------------------------------------------------------------- */

static bool open_bus(struct actor *actor)
{
    actor->bus = bus_connect(&(struct bus_options){
        .url = actor->options.bus_url,
        .name = actor->options.name,
        .tls = actor->options.bus_tls,
    });
    return actor->bus != NULL;
}

static void release(struct actor *actor)
{
    struct waiting left;

    while (fair_queue_take(&actor->queue, 1, INT64_MAX, &left) > 0)
        bus_message_free(left.message);
    if (actor->options.is_slow_lane)
        slow_lane_free(actor->slow_lane);
    reply_queue_close(actor->reply_queue);
    bus_free(actor->bus);
    for (size_t i = 0; i < actor->n_batches; i++) {
        db_free(actor->batches[i].db);
        arena_release(&actor->batches[i].arena);
    }
    fair_queue_release(&actor->queue);
    free(actor->mailboxes);
    free(actor->statements);
    free(actor);
}

static void read_options(struct actor *actor, const struct actor_options *options)
{
    actor->options = *options;
    if (actor->options.batch_max == 0)
        actor->options.batch_max = options->service->batch_max;
    if (actor->options.batch_max == 0)
        actor->options.batch_max = BATCH_MAX;
    if (actor->options.is_slow_lane && actor->options.batch_max > SLOW_BATCH_MAX)
        actor->options.batch_max = SLOW_BATCH_MAX;
    if (actor->options.batches == 0)
        actor->options.batches = options->service->batches;
    if (actor->options.batches == 0 || actor->options.is_slow_lane)
        actor->options.batches = 1;
    must(actor->options.batches <= BATCHES_MAX);
    if (actor->options.mailbox_max == 0)
        actor->options.mailbox_max = MAILBOX_MAX;
}

/* The slow lane's own actor creates it; the service's other actors share it. */
static struct slow_lane *find_slow_lane(const struct actor_options *options)
{
    if (options->is_slow_lane)
        return slow_lane_new(options->mailbox_max, MAILBOX_BYTES);
    return options->slow_lane != NULL ? options->slow_lane->slow_lane : NULL;
}

struct actor *actor_start(const struct actor_options *options)
{
    struct actor *actor = heap_zeroed(1, sizeof(*actor));
    int failed;

    read_options(actor, options);
    actor->n_batches = actor->options.batches;
    actor->slow_lane = find_slow_lane(&actor->options);
    actor->batch_now = actor->options.batch_max;
    actor->idle_due_us = options->is_first ? 0 : INT64_MAX;
    actor->service = options->service;
    actor->metrics = options->metrics;
    actor->route_metrics = actor_metrics_of(options->metrics, options->service);
    actor->mailboxes = heap_zeroed(options->service->n_handlers, sizeof(struct bus_mailbox *));
    fair_queue_init(&actor->queue, actor->options.mailbox_max, MAILBOX_BYTES,
                    actor->n_batches * actor->options.batch_max, BATCH_BYTES);
    for (size_t i = 0; i < actor->n_batches; i++)
        arena_init(&actor->batches[i].arena, ARENA_MAX);
    actor->batch = &actor->batches[0];
    if (!membership_open_database(actor) || !open_bus(actor)) {
        release(actor);
        return NULL;
    }
    if (options->is_slow_lane)
        slow_lane_wakes(actor->slow_lane, actor->bus);
    else if (actor->slow_lane != NULL)
        actor->reply_queue = reply_queue_new(actor->slow_lane, actor->bus);
    failed = pthread_create(&actor->thread, NULL, run, actor);
    must(failed == 0);
    return actor;
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
    int failed;

    if (actor == NULL)
        return;
    actor_stop(actor);
    failed = pthread_join(actor->thread, NULL);
    must(failed == 0);
    release(actor);
}

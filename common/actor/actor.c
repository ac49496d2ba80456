#include "common/actor/actor.h"

#include <stdlib.h>

#include "actor_sql.h"
#include "common/actor/engine.h"
#include "common/base/clock.h"
#include "common/base/log.h"

enum {
    BATCH_MOST = 128,
    MAILBOX_MOST = 1024,
    ARENA_MOST = 1024 * 1024 * 1024, /* a batch of the largest replies several times over */
    IDLE_MS = 1000,
    IDLE_US = IDLE_MS * 1000,
    RETRY_MS = 100, /* how long a turn without a database sleeps */
    UNSENT_MS = 1,
    DRAIN_MS = 10, /* how long a turn sleeps that waits for the last ones */
    FINISH_US = 10 * 1000 * 1000,
};

/* -- the mailbox ----------------------------------------------------------------------------- */

static int patience_ms(const struct actor *actor)
{
    if (actor->ring_n > 0)
        return 0;
    if (actor->has_unsent)
        return UNSENT_MS;
    if (atomic_load(&actor->is_stopping))
        return DRAIN_MS;
    if (!db_is_up(actor->db))
        return RETRY_MS;
    return actor->has_left ? DRAIN_MS : IDLE_MS;
}

static void take_in(struct actor *actor)
{
    struct bus_message *message;
    int64_t now = clock_us(), since = clock_mono_us();

    while ((message = bus_take(actor->mailbox)) != NULL) {
        size_t room = actor->options.mailbox_most;

        if (actor->ring_n == room) {
            metric_add(actor->meters->busy, 1);
            turn_away(actor, message);
            continue;
        }
        actor->ring[(actor->ring_first + actor->ring_n++) % room] =
            (struct waiting){.message = message, .received_us = now, .since_us = since};
    }
}

/* One look at the socket gives one buffer's worth: looks again while that brings more and the next
   batch has room for it. */
static void gather(struct actor *actor)
{
    size_t had;

    do {
        had = actor->ring_n;
        take_in(actor);
        if (actor->ring_n > had)
            bus_wait(actor->bus, 0);
    } while (actor->ring_n > had && actor->ring_n < actor->options.batch_most);
    take_in(actor);
}

static struct waiting next_waiting(struct actor *actor)
{
    struct waiting next = actor->ring[actor->ring_first];

    actor->ring_first = (actor->ring_first + 1) % actor->options.mailbox_most;
    actor->ring_n--;
    return next;
}

/* False: it needs no batch and has been dealt with. */
static bool begin(struct actor *actor, const struct waiting *from, struct work *work)
{
    if (!work_read(actor, from, work)) {
        work_answer(actor, work);
    } else if (work_is_expired(work)) {
        work_expire(actor, work);
    } else if (actor->has_left || !db_is_up(actor->db)) {
        work_fail(work, OUTCOME_UNAVAILABLE);
        work_answer(actor, work);
    } else if (work_is_hopeless(actor, work)) {
        metric_add(actor->meters->expired, 1);
        turn_away(actor, from->message);
    } else {
        return true;
    }
    return false;
}

static void run_waiting(struct actor *actor)
{
    size_t most = actor->batch_now, n = 0;
    struct work *all, **works;

    if (actor->ring_n == 0)
        return;
    if (most > actor->ring_n)
        most = actor->ring_n;
    all = ARENA_ARRAY(&actor->arena, struct work, most);
    works = ARENA_ARRAY(&actor->arena, struct work *, most);
    actor->rung = NULL;
    for (size_t i = 0; i < most; i++) {
        const struct waiting next = next_waiting(actor);

        all[i].arrival = i;
        if (begin(actor, &next, &all[i]))
            works[n++] = &all[i];
    }
    if (n > 0)
        works_settle(actor, works, n);
    arena_clear(&actor->arena);
}

/* -- the thread ------------------------------------------------------------------------------ */

static void do_upkeep(struct actor *actor)
{
    int64_t now = clock_mono_us();

    if (!actor->options.is_first || !actor->service->on_idle || !db_is_up(actor->db) ||
        now < actor->idle_due_us)
        return;
    actor->idle_due_us = now + IDLE_US;
    actor->service->on_idle(actor->db, &actor->arena, actor->service->self);
    arena_clear(&actor->arena);
}

static void turn(struct actor *actor)
{
    bus_wait(actor->bus, patience_ms(actor));
    links_mind(actor);
    if (actor->mailbox != NULL)
        gather(actor);
    links_show(actor);
    /* What is begun while replies wait for the socket would add its own: the bus keeps a batch's,
       and drops what exceeds that. */
    if (!actor->has_unsent || bus_flush(actor->bus))
        run_waiting(actor);
    discovery_answer(&actor->discovery, &actor->arena);
    actor->has_unsent = !bus_flush(actor->bus);
    do_upkeep(actor);
}

/* Everything that was routed here before the intake closed is still answered. */
static void finish(struct actor *actor)
{
    int64_t until_us = clock_mono_us() + FINISH_US;

    if (actor->mailbox == NULL)
        return;
    bus_stop_serving(actor->mailbox);
    do
        turn(actor);
    while ((actor->ring_n > 0 || actor->has_unsent || !bus_is_drained(actor->mailbox)) &&
           clock_mono_us() < until_us);
}

static void *run(void *closure)
{
    struct actor *actor = closure;

    links_mind(actor);
    while (!atomic_load(&actor->is_stopping))
        turn(actor);
    finish(actor);
    return NULL;
}

/* -- starting and stopping ------------------------------------------------------------------- */

static void *zeroed(size_t n, size_t size)
{
    void *p = calloc(n, size);

    must(p != NULL);
    return p;
}

static bool open_database(struct actor *actor)
{
    const struct service *service = actor->service;
    size_t n = service->n_statements;

    actor->statements = zeroed(n + LEDGER_STATEMENTS + 1, sizeof(*actor->statements));
    for (size_t i = 0; i < n; i++)
        actor->statements[i] = service->statements[i];
    if (service->ledger) {
        actor->statements[n++] = *service->ledger->entries;
        actor->statements[n++] = *service->ledger->changes;
    }
    if (service->looks_up_organizations) {
        actor->find_organizations = (int)n;
        actor->statements[n++] = actor_sql[SQL_FIND_ORGANIZATIONS];
    }
    actor->db = db_new(&(struct db_options){
        .url = actor->options.database_url,
        .name = actor->options.name,
        .statements = actor->statements,
        .n_statements = n,
    });
    if (!actor->db)
        LOG(LOG_ERROR, "DATABASE_URL cannot be parsed");
    return actor->db != NULL;
}

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
    while (actor->ring_n > 0)
        bus_message_free(next_waiting(actor).message);
    bus_free(actor->bus);
    db_free(actor->db);
    arena_release(&actor->arena);
    free(actor->ring);
    free(actor->statements);
    free(actor);
}

struct actor *actor_start(const struct actor_options *options)
{
    struct actor *actor = zeroed(1, sizeof(*actor));

    actor->options = *options;
    if (actor->options.batch_most == 0)
        actor->options.batch_most = options->service->batch_most;
    if (actor->options.batch_most == 0)
        actor->options.batch_most = BATCH_MOST;
    if (actor->options.mailbox_most == 0)
        actor->options.mailbox_most = MAILBOX_MOST;
    actor->batch_now = actor->options.batch_most;
    actor->service = options->service;
    actor->meters = options->meters;
    actor->route_meters = meters_of(options->meters, options->service);
    actor->ring = zeroed(actor->options.mailbox_most, sizeof(*actor->ring));
    arena_init(&actor->arena, ARENA_MOST);
    if (!open_database(actor) || !open_bus(actor)) {
        release(actor);
        return NULL;
    }
    must(pthread_create(&actor->thread, NULL, run, actor) == 0);
    return actor;
}

bool actor_bus_is_up(const struct actor *actor)
{
    return bus_is_up(actor->bus);
}

bool actor_database_is_up(const struct actor *actor)
{
    return atomic_load(&actor->database_is_up);
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

#include "common/actor/actor_internal.h"
#include "common/base/clock.h"
#include "common/base/log.h"

enum {
    CONNECT_MS = 50, /* how long a step waits for the database: commands wait behind it */
    /* A link that was cut is there again before, if its server is, and a server that was restarted
       mostly is. Gateways wait that long for an answer about a key. */
    LEAVE_US = 1000 * 1000,
};

static void join(struct actor *actor)
{
    const struct service *service = actor->service;
    const char *group = service->group != NULL ? service->group : service->name;

    for (size_t i = 0; i < service->n_handlers; i++)
        actor->mailboxes[actor->n_mailboxes++] =
            bus_serve(actor->bus, service->handlers[i]->subject, group);
    if (actor->options.is_first && service == actor->metrics->service)
        discovery_open(&actor->discovery, actor->bus, actor->metrics, actor->options.name);
    (void)bus_flush(actor->bus);
}

static void leave(struct actor *actor)
{
    membership_close_intake(actor);
    actor->has_left = true;
    LOG(LOG_WARNING, "database is unreachable; leaving commands to other replicas",
        log_str("name", actor->options.name));
}

static void rejoin(struct actor *actor)
{
    for (size_t i = 0; i < actor->n_mailboxes; i++)
        bus_serve_again(actor->mailboxes[i]);
    (void)bus_flush(actor->bus);
    actor->has_left = false;
    LOG(LOG_INFO, "taking commands again", log_str("name", actor->options.name));
}

void membership_close_intake(struct actor *actor)
{
    for (size_t i = 0; i < actor->n_mailboxes; i++)
        bus_stop_serving(actor->mailboxes[i]);
}

bool membership_is_drained(const struct actor *actor)
{
    for (size_t i = 0; i < actor->n_mailboxes; i++)
        if (!bus_is_drained(actor->mailboxes[i]))
            return false;
    return true;
}

/* Commands come in while there is something to do with them: a replica without a database takes
   none from those that have theirs. What was routed here before it left comes in all the same, and
   is refused, all of it before it comes back. */
static void update_mailboxes(struct actor *actor, bool has_database)
{
    if (atomic_load(&actor->is_stopping) || actor->options.is_slow_lane)
        return;
    if (actor->n_mailboxes == 0) {
        if (has_database)
            join(actor);
        return;
    }
    if (!bus_is_up(actor->bus))
        return;
    if (!actor->has_left) {
        if (!has_database && clock_mono_us() - actor->lost_us >= LEAVE_US)
            leave(actor);
    } else if (!membership_is_drained(actor)) {
        membership_close_intake(actor);
    } else if (has_database) {
        rejoin(actor);
    }
}

void membership_update(struct actor *actor)
{
    bool was_up = atomic_load(&actor->database_is_up), is_up;

    db_check(actor->db);
    is_up = db_connect(actor->db, CONNECT_MS) == ST_OK;
    if (was_up && !is_up)
        actor->lost_us = clock_mono_us();
    update_mailboxes(actor, is_up);
    if (is_up == was_up)
        return;
    atomic_store(&actor->database_is_up, is_up);
    metric_add(actor->metrics->database_up, is_up ? 1 : -1);
}

bool membership_may_recover(const struct actor *actor)
{
    return !db_is_up(actor->db) && actor->n_mailboxes > 0 && !actor->has_left &&
           !atomic_load(&actor->is_stopping) && clock_mono_us() - actor->lost_us < LEAVE_US;
}

/* Gauges that all actors of the process share move by what this one's part has moved. */
void membership_update_gauges(struct actor *actor)
{
    bool bus_up = bus_is_up(actor->bus);
    int64_t waiting = (int64_t)actor->queue.n;

    for (size_t i = 0; i < actor->n_mailboxes; i++)
        waiting += (int64_t)bus_waiting(actor->mailboxes[i]);
    metric_add(actor->metrics->bus_up, (int64_t)bus_up - (int64_t)actor->showed_bus_up);
    metric_add(actor->metrics->waiting, waiting - actor->showed_waiting);
    actor->showed_bus_up = bus_up;
    actor->showed_waiting = waiting;
}

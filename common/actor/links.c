#include "common/actor/engine.h"
#include "common/base/clock.h"
#include "common/base/log.h"

enum {
    CONNECT_MS = 50,       /* how long a turn waits for the database: commands wait behind it */
    LEAVE_US = 250 * 1000, /* a link that was cut is there again before, if its server is */
};

static void join(struct actor *actor)
{
    const struct service *service = actor->service;

    actor->mailbox = bus_serve(actor->bus, service->mailbox,
                               service->group != NULL ? service->group : service->name);
    if (actor->options.is_first && service == actor->meters->service)
        discovery_open(&actor->discovery, actor->bus, actor->meters, actor->options.name);
    (void)bus_flush(actor->bus);
}

static void leave(struct actor *actor)
{
    bus_stop_serving(actor->mailbox);
    actor->has_left = true;
    LOG(LOG_WARNING, "database is out of reach, leaving commands to other replicas",
        log_str("name", actor->options.name));
}

static void come_back(struct actor *actor)
{
    bus_serve_again(actor->mailbox);
    (void)bus_flush(actor->bus);
    actor->has_left = false;
    LOG(LOG_INFO, "taking commands again", log_str("name", actor->options.name));
}

/* Commands come in while there is something to do with them: a replica without a database takes
   none from those that have theirs. What was routed here before it left comes in all the same, and
   is refused, all of it before it comes back. */
static void mind_mailbox(struct actor *actor, bool has_database)
{
    if (atomic_load(&actor->is_stopping))
        return;
    if (actor->mailbox == NULL) {
        if (has_database)
            join(actor);
        return;
    }
    if (!bus_is_up(actor->bus))
        return;
    if (!actor->has_left) {
        if (!has_database && clock_mono_us() - actor->lost_us >= LEAVE_US)
            leave(actor);
    } else if (!bus_is_drained(actor->mailbox)) {
        bus_stop_serving(actor->mailbox);
    } else if (has_database) {
        come_back(actor);
    }
}

void links_mind(struct actor *actor)
{
    bool was_up = atomic_load(&actor->database_is_up), is_up;

    db_check(actor->db);
    is_up = db_connect(actor->db, CONNECT_MS) == ST_OK;
    if (was_up && !is_up)
        actor->lost_us = clock_mono_us();
    mind_mailbox(actor, is_up);
    if (is_up == was_up)
        return;
    atomic_store(&actor->database_is_up, is_up);
    metric_add(actor->meters->database_up, is_up ? 1 : -1);
}

/* Gauges that all actors of the process share move by what this one's part has moved. */
void links_show(struct actor *actor)
{
    bool bus_up = bus_is_up(actor->bus);
    size_t at_the_bus = actor->mailbox != NULL ? bus_waiting(actor->mailbox) : 0;
    int64_t waiting = (int64_t)(actor->ring_n + at_the_bus);

    metric_add(actor->meters->bus_up, (int64_t)bus_up - (int64_t)actor->showed_bus_up);
    metric_add(actor->meters->waiting, waiting - actor->showed_waiting);
    actor->showed_bus_up = bus_up;
    actor->showed_waiting = waiting;
}

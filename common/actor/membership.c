#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "actor_sql.h"
#include "common/actor/actor_internal.h"
#include "common/base/cell.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "common/db/db_url.h"
#include "common/json/json.h"
#include "proto/subject.h"

/* -- service discovery: what the replies say --------------------------------------------------- */

static void add_separator(struct buf *out)
{
    if (out->p[out->n - 1] != '[')
        buf_char(out, ',');
}

static void add_identity(const struct discovery *discovery, const char *type, struct buf *out)
{
    buf_char(out, '{');
    json_add_key(out, "type");
    buf_printf(out, "\"io.nats.micro.v1.%s_response\"", type);
    json_add_text(out, "name", str_of(discovery->metrics->service->name));
    json_add_text(out, "id", str_of(discovery->id));
    json_add_text(out, "version", str_of(version_text));
    json_add_key(out, "metadata");
    buf_char(out, '{');
    json_add_text(out, "instance", str_of(discovery->instance));
    json_add_text(out, "cell", str_of(discovery->cell != NULL ? discovery->cell : CELL_MAIN));
    buf_char(out, '}');
}

/* Leaves the object open. */
static void add_endpoint(const struct discovery *discovery, const struct service *service,
                         const struct command_handler *handler, struct buf *out)
{
    const char *group = service->group != NULL ? service->group : service->name;
    char subject[CELL_SUBJECT_CAPACITY];

    add_separator(out);
    buf_char(out, '{');
    json_add_text(out, "name", str_of(strrchr(handler->subject, '.') + 1));
    json_add_text(out, "subject",
                  str_of(subject_in_cell(handler->subject, discovery->cell, subject)));
    json_add_text(out, "queue_group", str_of(group));
}

static void add_figures(const struct route_metrics *metrics, struct buf *out)
{
    int64_t requests = 0, errors = 0, ns = metric_read(metrics->seconds) * 1000;

    for (int outcome = 0; outcome < OUTCOME_COUNT; outcome++) {
        int64_t n = metric_read(metrics->outcomes[outcome]);

        requests += n;
        if (outcome_http_status((enum outcome)outcome) >= 500)
            errors += n;
    }
    json_add_integer(out, "num_requests", requests);
    json_add_integer(out, "num_errors", errors);
    json_add_text(out, "last_error", STR(""));
    json_add_integer(out, "processing_time", ns);
    json_add_integer(out, "average_processing_time", requests > 0 ? ns / requests : 0);
}

static void add_endpoints(const struct discovery *discovery, bool with_figures, struct buf *out)
{
    const struct actor_metrics *metrics = discovery->metrics;

    json_add_key(out, "endpoints");
    buf_char(out, '[');
    for (const struct service *at = metrics->service; at != NULL; at = at->next_in_process) {
        const struct route_metrics *of = actor_metrics_of(metrics, at);

        for (size_t i = 0; i < at->n_handlers; i++) {
            add_endpoint(discovery, at, at->handlers[i], out);
            if (with_figures)
                add_figures(&of[i], out);
            buf_char(out, '}');
        }
    }
    buf_char(out, ']');
}

/* Figures that the protocol does not have. */
static void add_data(const struct discovery *discovery, struct buf *out)
{
    const struct service *service = discovery->metrics->service;

    json_add_key(out, "data");
    buf_char(out, '{');
    json_add_bool(out, "database", discovery->has_database);
    if (service->lag_s != NULL)
        json_add_integer(out, "lag_s", service->lag_s(service->self));
    buf_char(out, '}');
}

static void write_ping(const struct discovery *discovery, struct buf *out)
{
    add_identity(discovery, "ping", out);
}

static void write_info(const struct discovery *discovery, struct buf *out)
{
    add_identity(discovery, "info", out);
    json_add_key(out, "description");
    buf_printf(out, "\"The %s service of conversations\"", discovery->metrics->service->name);
    add_endpoints(discovery, false, out);
}

static void write_stats(const struct discovery *discovery, struct buf *out)
{
    time_t seconds = discovery->started_us / 1000000;
    char started[32];
    struct tm tm;

    gmtime_r(&seconds, &tm);
    strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &tm);
    add_identity(discovery, "stats", out);
    json_add_text(out, "started", str_of(started));
    add_data(discovery, out);
    add_endpoints(discovery, true, out);
}

static const struct {
    struct str verb;
    void (*write)(const struct discovery *discovery, struct buf *out);
} verbs[] = {{{"PING", 4}, write_ping}, {{"INFO", 4}, write_info}, {{"STATS", 5}, write_stats}};

/* -- service discovery: requests and replies --------------------------------------------------- */

/* Makes this process visible to service discovery. */
static void open_discovery(struct actor *actor)
{
    struct discovery *const discovery = &actor->discovery;
    struct bus *const bus = actor->bus;
    const char *name = actor->metrics->service->name;
    struct uuid id = uuid_v7(clock_us());
    char subject[128];
    size_t n = 0;

    *discovery = (struct discovery){.metrics = actor->metrics,
                                    .instance = actor->options.name,
                                    .cell = actor->options.cell,
                                    .bus = bus,
                                    .started_us = clock_us()};
    uuid_format(&id, discovery->id);
    for (; n < BUS_DISCOVERY_VERBS; n++)
        discovery->asked[n] = bus_serve(bus, bus_discovery_verbs[n], NULL);
    snprintf(subject, sizeof(subject), "$SRV.*.%s", name);
    discovery->asked[n++] = bus_serve(bus, subject, NULL);
    snprintf(subject, sizeof(subject), "$SRV.*.%s.%s", name, discovery->id);
    discovery->asked[n++] = bus_serve(bus, subject, NULL);
    must(n == DISCOVERY_SUBJECTS);
}

static void reply(const struct discovery *discovery, struct bus_message *message,
                  struct arena *arena)
{
    struct str rest = bus_message_subject(message), verb;
    char now_ms[UPKEEP_TIME_TEXT], database_ms[UPKEEP_TIME_TEXT];
    struct bus_header times[2] = {{BUS_CLOCK_HEADER, now_ms}};
    size_t n_times = 1;
    struct buf out;

    n_times += upkeep_database_time(discovery, database_ms, &times[1]);
    snprintf(now_ms, sizeof(now_ms), "%" PRId64, clock_us() / 1000);
    (void)str_cut(&rest, '.');
    verb = str_cut(&rest, '.');
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        if (!str_equal(verb, verbs[i].verb) || bus_message_reply_to(message).p == NULL)
            continue;
        buf_init(&out, arena, 1024);
        verbs[i].write(discovery, &out);
        buf_char(&out, '}');
        if (bus_reply(discovery->bus, message, times, n_times, buf_str(&out)) != ST_OK)
            metric_add(discovery->metrics->lost_replies, 1);
    }
}

enum { DISCOVERY_ARENA_MAX = 1024 * 1024 };

void membership_reply_to_discovery(struct actor *actor)
{
    struct discovery *discovery = &actor->discovery;
    struct arena arena; /* the batches' arenas may be in use */

    arena_init(&arena, DISCOVERY_ARENA_MAX);
    discovery->has_database = membership_has_database(actor);
    for (size_t i = 0; i < DISCOVERY_SUBJECTS && discovery->asked[i] != NULL; i++) {
        struct bus_message *message;

        while ((message = bus_take(discovery->asked[i])) != NULL) {
            reply(discovery, message, &arena);
            bus_message_free(message);
            arena_clear(&arena);
        }
    }
    arena_release(&arena);
}

/* -- the database and the queue group ---------------------------------------------------------- */

enum {
    CONNECT_MS = 50, /* how long a step waits for the database, and commands with it */
    /* A connection that was cut is back sooner if its server is up, and usually so if the server
       was restarted. Gateways wait this long for an answer about a key. */
    LEAVE_US = 1000 * 1000,
};

/* Adds a statement to the registry unless the service has it: the same name means the same
   statement. Returns its number. */
static int enlist(struct actor *actor, const struct db_statement *statement, size_t *n)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(actor->statements[i].name, statement->name) == 0) {
            must(strcmp(actor->statements[i].text, statement->text) == 0);
            return (int)i;
        }
    actor->statements[*n] = *statement;
    return (int)(*n)++;
}

bool membership_open_database(struct actor *actor)
{
    const struct service *service = actor->service;
    size_t n = service->n_statements;

    actor->list_closed = -1;
    actor->statements =
        heap_zeroed(n + AUDIT_SINK_STATEMENTS + ACTOR_SQL_COUNT, sizeof(*actor->statements));
    for (size_t i = 0; i < n; i++)
        actor->statements[i] = service->statements[i];
    if (service->audit_sink != NULL) {
        if (service->audit_sink->entries != NULL) {
            actor->audit_statements.entries = enlist(actor, service->audit_sink->entries, &n);
            actor->list_closed = enlist(actor, &actor_sql[SQL_LIST_CLOSED], &n);
        }
        actor->audit_statements.changes = enlist(actor, service->audit_sink->changes, &n);
    }
    actor->limit_lock_waits = (int)n;
    actor->statements[n++] = actor_sql[SQL_LIMIT_LOCK_WAITS];
    actor->end_hung_sessions = (int)n;
    actor->statements[n++] = actor_sql[SQL_END_HUNG_SESSIONS];
    for (size_t i = 0; i < actor->n_batches; i++) {
        actor->batches[i].db = db_new(&(struct db_options){
            .url = actor->options.database_url,
            .name = actor->options.name,
            .statements = actor->statements,
            .n_statements = n,
            .on_wait = actor_on_wait,
            .closure = actor,
            .lock_ms = LOCK_TIMEOUT_MS,
            .statement_ms = service->statement_ms,
            /* Without audit entries it writes nothing: search, on a replica of the database. */
            .may_be_standby = service->audit_sink == NULL,
        });
        if (actor->batches[i].db == NULL) {
            LOG(LOG_ERROR, "DATABASE_URL cannot be used",
                log_str("reason", db_url_fault(actor->options.database_url)));
            return false;
        }
    }
    atomic_store(&actor->database_trouble, db_trouble(actor->batches[0].db));
    return true;
}

static void join(struct actor *actor)
{
    const struct service *service = actor->service;
    const char *group = service->group != NULL ? service->group : service->name;

    for (size_t i = 0; i < service->n_handlers; i++) {
        const char *subject = service->handlers[i]->subject;
        char in_cell[CELL_SUBJECT_CAPACITY];
        struct bus_mailbox *mailbox =
            bus_serve(actor->bus, subject_in_cell(subject, actor->options.cell, in_cell), group);

        if (subject_is_bundled(subject))
            bus_serve_bundles(mailbox);
        actor->mailboxes[actor->n_mailboxes++] = mailbox;
    }
    if (actor->options.is_first && service == actor->metrics->service)
        open_discovery(actor);
    (void)bus_flush(actor->bus);
}

static void leave(struct actor *actor)
{
    membership_close_intake(actor);
    actor->has_left = true;
    LOG(LOG_WARNING, "database is unreachable; leaving commands to other replicas",
        log_str("name", actor->options.name), log_str("reason", db_trouble(actor->batches[0].db)));
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

/* Takes commands only while the database is up: a replica without one takes none from replicas that
   have theirs. Messages that were routed here before it left still arrive and are refused, all of
   them before it rejoins. */
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

bool membership_has_database(const struct actor *actor)
{
    for (size_t i = 0; i < actor->n_batches; i++)
        if (db_is_up(actor->batches[i].db))
            return true;
    return false;
}

bool membership_has_all_connections(const struct actor *actor)
{
    for (size_t i = 0; i < actor->n_batches; i++)
        if (!db_is_up(actor->batches[i].db))
            return false;
    return true;
}

/* One connection is enough to work with; no step waits for the other one, which makes progress when
   its socket is ready. */
static bool connect_batches(struct actor *actor)
{
    bool is_up;

    for (size_t i = 0; i < actor->n_batches; i++)
        db_check(actor->batches[i].db);
    is_up = membership_has_database(actor);
    for (size_t i = 0; i < actor->n_batches; i++) {
        const int timeout_ms = is_up || i > 0 ? 0 : CONNECT_MS;

        if (actor->batches[i].phase == BATCH_IDLE &&
            db_connect(actor->batches[i].db, timeout_ms) == ST_OK)
            is_up = true;
    }
    return is_up;
}

void membership_update(struct actor *actor)
{
    const bool was_up = atomic_load(&actor->database_trouble) == NULL;
    const bool is_up = connect_batches(actor);

    if (was_up && !is_up)
        actor->lost_us = clock_mono_us();
    update_mailboxes(actor, is_up);
    atomic_store(&actor->database_trouble, is_up ? NULL : db_trouble(actor->batches[0].db));
    if (is_up != was_up)
        metric_add(actor->metrics->database_up, is_up ? 1 : -1);
}

bool actor_database_is_up(const struct actor *actor)
{
    return actor_database_trouble(actor) == NULL;
}

const char *actor_database_trouble(const struct actor *actor)
{
    return atomic_load(&actor->database_trouble);
}

bool membership_may_recover(const struct actor *actor)
{
    return !membership_has_database(actor) &&
           (actor->n_mailboxes > 0 || actor->options.is_slow_lane) && !actor->has_left &&
           !atomic_load(&actor->is_stopping) && clock_mono_us() - actor->lost_us < LEAVE_US;
}

/* All actors of the process share the gauges: adds the change of this actor's part. */
void membership_update_gauges(struct actor *actor)
{
    bool bus_up = bus_is_up(actor->bus);
    int64_t waiting = (int64_t)actor->queue.n;
    int64_t lost_replies = (int64_t)bus_lost_replies(actor->bus);

    for (size_t i = 0; i < actor->n_mailboxes; i++)
        waiting += (int64_t)bus_waiting(actor->mailboxes[i]);
    metric_add(actor->metrics->lost_replies, lost_replies - actor->showed_lost_replies);
    actor->showed_lost_replies = lost_replies;
    metric_add(actor->metrics->bus_up, (int64_t)bus_up - (int64_t)actor->showed_bus_up);
    metric_add(actor->metrics->waiting, waiting - actor->showed_waiting);
    actor->showed_bus_up = bus_up;
    actor->showed_waiting = waiting;
}

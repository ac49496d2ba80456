#include "common/actor/discovery.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/arena.h"
#include "common/base/cell.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/uuid.h"
#include "common/base/version.h"
#include "common/json/json.h"
#include "proto/subject.h"

enum {
    SUBJECTS = 5, /* three for all services, one by name, one by id */
    ARENA_MAX = 1024 * 1024,
    CLOCK_KNOWN_US = 10 * 1000 * 1000, /* how long the time of the database is passed on */
    TIME_TEXT = 24,
};

struct discovery {
    const struct actor_metrics *metrics;
    const char *instance, *cell;
    struct bus *bus;
    struct bus_mailbox *asked[SUBJECTS];
    char id[UUID_TEXT + 1]; /* of this process, until it ends */
    int64_t started_us;
    bool has_database; /* at the latest request */
    /* The database's clock, in Unix milliseconds, and clock_mono_us() when it was read; 0: never. */
    int64_t database_ms, database_read_us;
};

/* -- what the replies say ---------------------------------------------------------------------- */

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

/* -- requests and replies ---------------------------------------------------------------------- */

struct discovery *discovery_open(struct bus *bus, const struct actor_metrics *metrics,
                                 const char *instance, const char *cell)
{
    struct discovery *discovery = heap_zeroed(1, sizeof(*discovery));
    const char *name = metrics->service->name;
    struct uuid id = uuid_v7(clock_us());
    char subject[128];
    size_t n = 0;

    *discovery = (struct discovery){.metrics = metrics,
                                    .instance = instance,
                                    .cell = cell,
                                    .bus = bus,
                                    .started_us = clock_us()};
    uuid_format(&id, discovery->id);
    for (; n < BUS_DISCOVERY_VERBS; n++)
        discovery->asked[n] = bus_serve(bus, bus_discovery_verbs[n], NULL);
    snprintf(subject, sizeof(subject), "$SRV.*.%s", name);
    discovery->asked[n++] = bus_serve(bus, subject, NULL);
    snprintf(subject, sizeof(subject), "$SRV.*.%s.%s", name, discovery->id);
    discovery->asked[n++] = bus_serve(bus, subject, NULL);
    must(n == SUBJECTS);
    return discovery;
}

void discovery_free(struct discovery *discovery)
{
    free(discovery);
}

void discovery_note_database_clock(struct discovery *discovery, int64_t now_ms)
{
    if (discovery == NULL)
        return;
    discovery->database_ms = now_ms;
    discovery->database_read_us = clock_mono_us();
}

/* The time, and that of the database if it was read lately: nobody sets the monotonic clock. Returns
   the number of headers. */
static size_t add_times(const struct discovery *discovery, char texts[2][TIME_TEXT],
                        struct bus_header out[2])
{
    const int64_t since_us = clock_mono_us() - discovery->database_read_us;

    snprintf(texts[0], TIME_TEXT, "%" PRId64, clock_us() / 1000);
    out[0] = (struct bus_header){BUS_CLOCK_HEADER, texts[0]};
    if (discovery->database_read_us == 0 || since_us > CLOCK_KNOWN_US)
        return 1;
    snprintf(texts[1], TIME_TEXT, "%" PRId64, discovery->database_ms + since_us / 1000);
    out[1] = (struct bus_header){BUS_DATABASE_CLOCK_HEADER, texts[1]};
    return 2;
}

static void reply(const struct discovery *discovery, struct bus_message *message,
                  struct arena *arena)
{
    struct str rest = bus_message_subject(message), verb;
    struct bus_header times[2];
    char texts[2][TIME_TEXT];
    const size_t n_times = add_times(discovery, texts, times);
    struct buf out;

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

void discovery_reply(struct discovery *discovery, bool has_database)
{
    struct arena arena; /* the batches' arenas may be in use */
    struct bus_message *message;

    if (discovery == NULL)
        return;
    arena_init(&arena, ARENA_MAX);
    discovery->has_database = has_database;
    for (size_t i = 0; i < SUBJECTS; i++)
        while ((message = bus_take(discovery->asked[i])) != NULL) {
            reply(discovery, message, &arena);
            bus_message_free(message);
            arena_clear(&arena);
        }
    arena_release(&arena);
}

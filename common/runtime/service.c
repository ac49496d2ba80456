#include "common/runtime/service.h"

#include <stdio.h>

#include "common/actor/actor_metrics.h"
#include "common/base/cell.h"
#include "common/base/log.h"

enum { ACTORS_MAX = 32, MAILBOXES_MAX = 4, ALL_ACTORS_MAX = 128 };

struct config {
    const char *database_url, *cell;
    int64_t actors;
};

#define AT(member) .offset = offsetof(struct config, member)

static const struct setting settings[] = {
    {.name = "DATABASE_URL",
     .type = SETTING_STRING,
     AT(database_url),
     .secret = true,
     .meaning = "PostgreSQL URL with credentials; if it names several servers, the one that "
                "accepts writes is used"},
    {.name = "CELL",
     .type = SETTING_STRING,
     AT(cell),
     .fallback = CELL_MAIN,
     .meaning = "Cell whose organizations it serves, up to 16 lower-case letters and digits; "
                "access ignores it"},
    {.name = "ACTORS",
     .type = SETTING_INT,
     AT(actors),
     .fallback = "1",
     .min = 1,
     .max = ACTORS_MAX,
     .meaning = "Threads that run commands, each with its own database connections"},
};

struct running {
    struct service *service;
    const struct service_extra *extra;
    struct config config;
    struct process process;
    bool has_beside; /* extra->start() succeeded */
    struct actor_metrics *metrics;
    char actor_names[MAILBOXES_MAX][64]; /* shared by the actors of a mailbox */
    struct actor *actors[ALL_ACTORS_MAX];
    size_t n_actors;
    char lane_names[MAILBOXES_MAX][64];
    struct actor *slow_lanes[MAILBOXES_MAX]; /* used by the other actors */
    size_t n_slow_lanes;
};

static bool not_ready(char reason[128], const char *why)
{
    snprintf(reason, 128, "%s", why);
    return false;
}

static bool are_up(struct actor *const *actors, size_t n, char reason[128])
{
    const char *why;

    for (size_t i = 0; i < n; i++) {
        why = actor_bus_trouble(actors[i]);
        if (why == NULL)
            why = actor_database_trouble(actors[i]);
        if (why != NULL)
            return not_ready(reason, why);
    }
    return true;
}

static bool is_ready(void *closure, char reason[128])
{
    struct running *self = closure;

    if (!are_up(self->slow_lanes, self->n_slow_lanes, reason) ||
        !are_up(self->actors, self->n_actors, reason))
        return false;
    return self->extra == NULL || self->extra->is_ready == NULL || self->extra->is_ready(reason);
}

/* Starts the other part first, since commands may use it. */
static bool start_beside(struct running *self)
{
    const struct service_extra *extra = self->extra;

    if (extra == NULL || extra->start == NULL)
        return true;
    self->has_beside = extra->start(&self->process, extra->config) == ST_OK;
    return self->has_beside;
}

static struct actor *start_slow_lane(struct running *self, struct actor_options options)
{
    char *name = self->lane_names[self->n_slow_lanes];
    struct actor *lane;

    snprintf(name, sizeof(self->lane_names[0]), "%s-slow-%s", options.service->name,
             self->process.instance);
    options.name = name;
    options.is_slow_lane = true;
    lane = actor_start(&options);
    if (lane != NULL)
        self->slow_lanes[self->n_slow_lanes++] = lane;
    return lane;
}

/* Starts the actors of one mailbox. */
static bool start_actors(struct running *self, const struct service *service, const char *name)
{
    size_t n = service->actors > 0 ? service->actors : (size_t)self->config.actors;
    struct actor_options options = {
        .service = service,
        .metrics = self->metrics,
        .name = name,
        .bus_url = self->process.bus_url,
        .bus_settings = self->process.bus_settings,
        .database_url = self->process.database_url,
        .cell = self->process.cell,
    };

    if (service->has_slow_lane) {
        options.slow_lane = start_slow_lane(self, options);
        if (options.slow_lane == NULL)
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        struct actor **actor = &self->actors[self->n_actors];

        options.is_first = i == 0;
        *actor = actor_start(&options);
        if (*actor == NULL)
            return false;
        self->n_actors++;
    }
    return true;
}

static bool start_mailboxes(struct running *self)
{
    size_t n = 0;

    for (const struct service *at = self->service; at != NULL; at = at->next_in_process) {
        char *name;

        must(n < MAILBOXES_MAX && at->actors <= ACTORS_MAX);
        name = self->actor_names[n++];
        snprintf(name, sizeof(self->actor_names[0]), "%s-%s", at->name, self->process.instance);
        if (!start_actors(self, at, name))
            return false;
    }
    return true;
}

static bool check(void *closure)
{
    const struct running *self = closure;

    if (cell_is_name(str_of(self->config.cell)))
        return true;
    LOG(LOG_ERROR, "CELL must be 1 to 16 lower-case letters and digits, the first a letter");
    return false;
}

static bool open_service(const struct process *process, void *closure)
{
    struct running *self = closure;
    const struct service_extra *extra = self->extra;

    self->process = *process;
    self->process.database_url = self->config.database_url;
    if (extra != NULL && extra->open != NULL && extra->open(self->service, extra->config) != ST_OK)
        return false;
    self->metrics = actor_metrics_new(self->service);
    return true;
}

static bool start(void *closure)
{
    struct running *self = closure;

    return start_beside(self) && start_mailboxes(self);
}

static size_t describe(void *closure, struct log_field fields[PROGRAM_LOG_MAX])
{
    const struct running *self = closure;

    fields[0] = log_int("actors", self->config.actors);
    return 1;
}

static void stop_actors(struct actor *const *actors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        actor_stop(actors[i]);
}

static void free_actors(struct actor *const *actors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        actor_free(actors[i]);
}

static void stop(void *closure)
{
    struct running *self = closure;

    stop_actors(self->actors, self->n_actors);
}

/* The actors finish in parallel; then the slow lanes, to which they hand over commands. */
static void release(void *closure)
{
    struct running *self = closure;

    if (self->has_beside && self->extra->stop != NULL)
        self->extra->stop();
    free_actors(self->actors, self->n_actors);
    stop_actors(self->slow_lanes, self->n_slow_lanes);
    free_actors(self->slow_lanes, self->n_slow_lanes);
    actor_metrics_free(self->metrics);
}

int service_main(int argc, char **argv, struct service *service, const struct service_extra *extra)
{
    static struct running running; /* lives until the process ends */
    struct program program = {
        .name = service->name,
        .settings = {[1] = {settings, ARRAY_SIZE(settings), &running.config}},
        .closure = &running,
        .cell = &running.config.cell,
        .check = check,
        .open = open_service,
        .start = start,
        .is_ready = is_ready,
        .describe = describe,
        .stop = stop,
        .release = release,
    };

    if (extra != NULL)
        program.settings[0] =
            (struct program_settings){extra->settings, extra->n_settings, extra->config};
    running.service = service;
    running.extra = extra;
    return program_main(argc, argv, &program);
}

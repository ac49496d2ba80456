#include "common/actor/service.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/actor/actor_metrics.h"
#include "common/base/log.h"
#include "common/base/process.h"
#include "common/base/version.h"
#include "common/bus/settings.h"
#include "common/crypto/crypto.h"
#include "common/http/admin.h"
#include "common/trace/trace.h"

enum { ACTORS_MAX = 32, SETTINGS_MAX = 32, MAILBOXES_MAX = 4, ALL_ACTORS_MAX = 128 };

struct base_config {
    const char *bus_url, *database_url;
    struct bus_tls bus_tls;
    const char *admin_address, *log_level, *instance;
    int64_t admin_port, actors;
    struct trace_settings trace;
};

#define STRING(field_, name_, fallback_, secret_, meaning_)                                        \
    {                                                                                              \
        .name = (name_), .type = SETTING_STRING, .offset = offsetof(struct base_config, field_),   \
        .fallback = (fallback_), .secret = (secret_), .meaning = (meaning_)                        \
    }
#define INTEGER(field_, name_, fallback_, min_, max_, meaning_)                                    \
    {                                                                                              \
        .name = (name_), .type = SETTING_INT, .offset = offsetof(struct base_config, field_),      \
        .fallback = (fallback_), .min = (min_), .max = (max_), .meaning = (meaning_)               \
    }

static const struct setting base_settings[] = {
    STRING(bus_url, "NATS_URL", NULL, true, "NATS URL with credentials"),
    BUS_TLS_SETTINGS(struct base_config, bus_tls),
    STRING(database_url, "DATABASE_URL", NULL, true, "PostgreSQL URL with credentials"),
    STRING(admin_address, "ADMIN_ADDRESS", "127.0.0.1", false,
           "Address of the listener for /livez, /readyz and /metrics"),
    INTEGER(admin_port, "ADMIN_PORT", "0", 0, 65535, "Port of that listener; 0 = none"),
    INTEGER(actors, "ACTORS", "1", 1, ACTORS_MAX,
            "Threads that run commands, each with its own database connection"),
    STRING(log_level, "LOG_LEVEL", "info", false,
           "Lowest level that is logged: debug, info, warning or error"),
    STRING(instance, "SERVICE_INSTANCE", "0", false,
           "Distinguishes replicas in the client lists of the bus and the database"),
    TRACE_SETTINGS(struct base_config, trace),
};
enum { N_BASE_SETTINGS = sizeof(base_settings) / sizeof(base_settings[0]) };

struct process {
    struct service *service;
    const struct service_extra *extra;
    struct base_config config;
    char name[64]; /* service and replica */
    struct service_process shown;
    bool has_beside; /* extra->start() succeeded */
    struct actor_metrics *metrics;
    char actor_names[MAILBOXES_MAX][64]; /* the same of each mailbox */
    struct actor *actors[ALL_ACTORS_MAX];
    size_t n_actors;
    char lane_names[MAILBOXES_MAX][64];
    struct actor *slow_lanes[MAILBOXES_MAX]; /* used by the others */
    size_t n_slow_lanes;
    struct admin *admin;
    atomic_bool is_stopping;
};

/* -- settings -------------------------------------------------------------------------------- */

static bool load(struct process *process)
{
    const struct service_extra *extra = process->extra;
    enum log_level level = LOG_INFO;
    char error[256] = "setting LOG_LEVEL must be debug, info, warning or error";
    bool is_sound = config_load(base_settings, N_BASE_SETTINGS, &process->config, error) == ST_OK &&
                    (!extra || config_load(extra->settings, extra->n_settings, extra->config,
                                           error) == ST_OK) &&
                    log_level_parse(process->config.log_level, &level);

    log_open(process->service->name, level);
    if (!is_sound)
        LOG(LOG_ERROR, error);
    return is_sound;
}

static void describe(const struct process *process)
{
    const struct service_extra *extra = process->extra;
    struct setting all[SETTINGS_MAX];
    size_t n = extra ? extra->n_settings : 0;

    must(N_BASE_SETTINGS + n <= SETTINGS_MAX);
    memcpy(all, base_settings, sizeof(base_settings));
    if (n > 0)
        memcpy(all + N_BASE_SETTINGS, extra->settings, n * sizeof(*all));
    config_describe(all, N_BASE_SETTINGS + n, process->service->name);
}

static void print_config(const struct process *process)
{
    const struct service_extra *extra = process->extra;

    config_print(base_settings, N_BASE_SETTINGS, &process->config);
    if (extra)
        config_print(extra->settings, extra->n_settings, extra->config);
}

static int use(FILE *to, const char *name, int exit_code)
{
    fprintf(to,
            "Usage: %s [--print-config | --describe-config | --version | --help]\n\n"
            "Takes its settings from the environment; --describe-config lists them,\n"
            "--print-config shows their values. Runs until SIGTERM or SIGINT.\n",
            name);
    return exit_code;
}

/* -- running --------------------------------------------------------------------------------- */

static bool not_ready(char reason[128], const char *why)
{
    snprintf(reason, 128, "%s", why);
    return false;
}

static bool are_up(struct actor *const *actors, size_t n, char reason[128])
{
    for (size_t i = 0; i < n; i++) {
        if (!actor_bus_is_up(actors[i]))
            return not_ready(reason, "the bus is unreachable");
        if (!actor_database_is_up(actors[i]))
            return not_ready(reason, "the database is unreachable");
    }
    return true;
}

static bool is_ready(void *closure, char reason[128])
{
    struct process *process = closure;

    if (atomic_load(&process->is_stopping))
        return not_ready(reason, "shutting down");
    if (!are_up(process->slow_lanes, process->n_slow_lanes, reason) ||
        !are_up(process->actors, process->n_actors, reason))
        return false;
    return !process->extra || !process->extra->is_ready || process->extra->is_ready(reason);
}

/* What runs beside the actors is there before a command can ask for it. */
static bool start_beside(struct process *process)
{
    const struct base_config *config = &process->config;
    const struct service_extra *extra = process->extra;

    process->shown = (struct service_process){
        .name = process->name,
        .bus_url = config->bus_url,
        .bus_tls = &config->bus_tls,
        .database_url = config->database_url,
    };
    if (extra && extra->start)
        process->has_beside = extra->start(&process->shown, extra->config) == ST_OK;
    return !extra || !extra->start || process->has_beside;
}

static struct actor *start_slow_lane(struct process *process, struct actor_options options)
{
    char *name = process->lane_names[process->n_slow_lanes];
    struct actor *lane;

    snprintf(name, sizeof(process->lane_names[0]), "%s-slow-%s", options.service->name,
             process->config.instance);
    options.name = name;
    options.is_slow_lane = true;
    lane = actor_start(&options);
    if (lane != NULL)
        process->slow_lanes[process->n_slow_lanes++] = lane;
    return lane;
}

/* The actors of one mailbox. */
static bool start_actors(struct process *process, const struct service *service, const char *name)
{
    const struct base_config *config = &process->config;
    size_t n = service->actors > 0 ? service->actors : (size_t)config->actors;
    struct actor_options options = {
        .service = service,
        .metrics = process->metrics,
        .name = name,
        .bus_url = config->bus_url,
        .bus_tls = &config->bus_tls,
        .database_url = config->database_url,
    };

    if (service->has_slow_lane) {
        options.slow_lane = start_slow_lane(process, options);
        if (options.slow_lane == NULL)
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        struct actor **actor = &process->actors[process->n_actors];

        options.is_first = i == 0;
        *actor = actor_start(&options);
        if (*actor == NULL)
            return false;
        process->n_actors++;
    }
    return true;
}

static bool start_mailboxes(struct process *process)
{
    size_t n = 0;

    for (const struct service *at = process->service; at != NULL; at = at->next_in_process) {
        char *name = process->actor_names[n++];

        must(n <= MAILBOXES_MAX && at->actors <= ACTORS_MAX);
        snprintf(name, sizeof(process->actor_names[0]), "%s-%s", at->name,
                 process->config.instance);
        if (!start_actors(process, at, name))
            return false;
    }
    return true;
}

static bool start(struct process *process)
{
    const struct base_config *config = &process->config;
    const struct admin_options admin = {
        .address = config->admin_address,
        .port = (uint16_t)config->admin_port,
        .is_ready = is_ready,
        .closure = process,
    };

    return start_beside(process) && start_mailboxes(process) &&
           admin_start(&admin, &process->admin) == ST_OK;
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

/* All actors finish at the same time, and then those to whom they leave something. */
static void stop(struct process *process)
{
    atomic_store(&process->is_stopping, true);
    stop_actors(process->actors, process->n_actors);
    admin_stop(process->admin);
    if (process->has_beside && process->extra->stop)
        process->extra->stop();
    free_actors(process->actors, process->n_actors);
    stop_actors(process->slow_lanes, process->n_slow_lanes);
    free_actors(process->slow_lanes, process->n_slow_lanes);
    trace_close();
    actor_metrics_free(process->metrics);
}

static int run(struct process *process)
{
    struct service *service = process->service;
    const struct service_extra *extra = process->extra;
    sigset_t ends;
    int signal_number = 0;
    bool is_started;

    process_prepare(&ends);
    crypto_open();
    if (extra && extra->open && extra->open(service, extra->config) != ST_OK)
        return 1;
    snprintf(process->name, sizeof(process->name), "%s-%s", service->name,
             process->config.instance);
    process->metrics = actor_metrics_new(service);
    is_started =
        trace_open(&process->config.trace, service->name, process->name) == ST_OK && start(process);
    if (is_started) {
        LOG(LOG_INFO, "started", log_str("name", process->name),
            log_int("actors", process->config.actors));
        sigwait(&ends, &signal_number);
        LOG(LOG_INFO, "stopping", log_int("signal", signal_number));
    }
    stop(process);
    if (is_started)
        LOG(LOG_INFO, "stopped");
    return is_started ? 0 : 1;
}

int service_main(int argc, char **argv, struct service *service, const struct service_extra *extra)
{
    static struct process process; /* its settings live until the process ends */
    const char *option = argc > 1 ? argv[1] : "";

    process.service = service;
    process.extra = extra;
    if (argc > 2)
        return use(stderr, service->name, 2);
    if (strcmp(option, "--help") == 0)
        return use(stdout, service->name, 0);
    if (strcmp(option, "--version") == 0)
        return version_print();
    if (strcmp(option, "--describe-config") == 0) {
        describe(&process);
        return 0;
    }
    if (argc > 1 && strcmp(option, "--print-config") != 0)
        return use(stderr, service->name, 2);
    if (!load(&process))
        return 1;
    if (argc > 1) {
        print_config(&process);
        return 0;
    }
    return run(&process);
}

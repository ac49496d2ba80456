#include "common/runtime/edge_program.h"

#include <sched.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/framing.h"

enum { LOOPS_MAX = 64, REQUEST_MS = 10000 };

struct config {
    const char *trusted_proxies;
    int64_t command_timeout_ms;
    int64_t max_connections;
    int64_t idle_timeout_ms;
    int64_t shutdown_delay_ms;
    bool access_log;
};

#define AT(member) .offset = offsetof(struct config, member)

static const struct setting settings[] = {
    {.name = "ACCESS_LOG",
     .type = SETTING_BOOL,
     AT(access_log),
     .fallback = "false",
     .meaning = "Log every response at level info, not only failures"},
    {.name = "TRUSTED_PROXIES",
     .type = SETTING_STRING,
     AT(trusted_proxies),
     .fallback = "",
     .meaning = "Networks (CIDR, separated by commas) whose X-Forwarded-For and X-Forwarded-Proto "
                "are trusted"},
    {.name = "COMMAND_TIMEOUT_MS",
     .type = SETTING_INT,
     AT(command_timeout_ms),
     .fallback = "3000",
     .min = 100,
     .max = 12000, /* twice that, including the audit entry, fits in a client's 30 seconds */
     .meaning = "Timeout in milliseconds of a command to a service"},
    {.name = "MAX_CONNECTIONS",
     .type = SETTING_INT,
     AT(max_connections),
     .fallback = "10000",
     .min = 1,
     .max = 1000000,
     .meaning = "Open connections per event loop. An address (IPv6: a /64) that is not in "
                "TRUSTED_PROXIES may have a sixteenth of them, and its network (a /24, IPv6: a "
                "/48) a quarter; where that many are open, an idle one is closed for a new one"},
    {.name = "IDLE_TIMEOUT_MS",
     .type = SETTING_INT,
     AT(idle_timeout_ms),
     .fallback = "75000",
     .min = 1000,
     .max = 3600000,
     .meaning = "Milliseconds for which a connection is kept open between two requests. A load "
                "balancer in front must keep its connections for a shorter time"},
    {.name = "SHUTDOWN_DELAY_MS",
     .type = SETTING_INT,
     AT(shutdown_delay_ms),
     .fallback = "0",
     .min = 0,
     .max = 60000,
     .meaning = "Milliseconds for which it keeps serving after SIGTERM while /readyz reports that "
                "it is shutting down, so that load balancers stop sending requests; a second "
                "signal stops it at once"},
};

/* One program for each process. */
static const struct edge_program *program;
static struct config config;
static struct networks trusted;
static struct edge_options options;
static h2o_globalconf_t http;
static struct edge *loops[LOOPS_MAX];
static size_t n_loops;

static bool check(void *closure)
{
    struct str wrong;

    if (networks_parse(str_of(config.trusted_proxies), &trusted, &wrong))
        return true;
    LOG(LOG_ERROR, "TRUSTED_PROXIES must be networks such as 10.0.0.0/8, separated by commas",
        log_slice("invalid", wrong), log_int("networks_max", NETWORKS_MAX));
    return false;
}

/* Sends every request to the one handler, whatever its path and host. */
static void configure_http(void)
{
    h2o_hostconf_t *host;

    h2o_config_init(&http);
    http.server_name = h2o_iovec_init(NULL, 0);
    http.http1.upgrade_to_http2 = 0;
    /* Neither is ever reached: our own limits are shorter (connections.h), and the framing is checked
       first. */
    http.http1.req_timeout = (uint64_t)config.idle_timeout_ms + 2 * REQUEST_MS;
    http.max_request_entity_size = 2 * FRAMING_BODY_MAX;
    host = h2o_config_register_host(&http, h2o_iovec_init(H2O_STRLIT("default")), 65535);
    h2o_create_handler(&host->fallback_path, sizeof(h2o_handler_t))->on_req = program->on_request;
}

/* A loop that wakes other processes (clients, the bus) keeps running until it has nothing to do,
   instead of being preempted by each of them: so it handles more of what arrives together. */
static void prefer_batches(void)
{
    const struct sched_param none = {0};

    (void)sched_setscheduler(0, SCHED_BATCH, &none);
}

static bool start(void *closure)
{
    size_t n = program->count_loops != NULL ? program->count_loops() : 1;

    must(n > 0 && n <= LOOPS_MAX);
    options.shared = n > 1;
    for (; n_loops < n; n_loops++) {
        loops[n_loops] = program->new_loop();
        if (!edge_start(loops[n_loops], &options))
            return false;
    }
    return true;
}

static size_t describe(void *closure, struct log_field fields[PROGRAM_LOG_MAX])
{
    fields[0] = log_int("port", options.port);
    fields[1] = log_int("tls_port", options.tls_port);
    fields[2] = log_int("threads", (int64_t)n_loops);
    return 3;
}

static bool open_program(const struct process *process, void *closure)
{
    clock_hold();
    prefer_batches();
    configure_http();
    options = (struct edge_options){.name = process->name,
                                    .nats_url = process->bus_url,
                                    .bus_settings = process->bus_settings,
                                    .inbox_prefix = bus_user_inbox(program->user),
                                    .command_timeout_ms = config.command_timeout_ms,
                                    .bus_timeout_ms = program->bus_timeout_ms,
                                    .connections = {.max = (size_t)config.max_connections,
                                                    .idle_ms = (unsigned)config.idle_timeout_ms,
                                                    .request_ms = REQUEST_MS,
                                                    .trusted = &trusted},
                                    .calls_max = program->calls_max,
                                    .logs_all = process->logs_all,
                                    .logs_access = config.access_log,
                                    .http = &http};
    return program->open(&options);
}

static bool has_clock(char reason[128])
{
    for (size_t i = 0; i < n_loops; i++)
        if (edge_clock_is_skewed(loops[i])) {
            snprintf(reason, 128,
                     "its clock is more than 5 s from those of access and its database");
            return false;
        }
    return true;
}

static bool is_ready(void *closure, char reason[128])
{
    for (size_t i = 0; i < n_loops; i++)
        if (!edge_is_ready(loops[i])) {
            const char *const trouble = edge_bus_trouble(loops[i]);

            snprintf(reason, 128, "%s", trouble != NULL ? trouble : "the bus does not answer");
            return false;
        }
    return has_clock(reason);
}

static bool serves(void *closure, char reason[128])
{
    for (size_t i = 0; i < n_loops; i++)
        if (!edge_listens(loops[i])) {
            snprintf(reason, 128, "the bus has not answered yet");
            return false;
        }
    return has_clock(reason);
}

static void stop(void *closure)
{
    for (size_t i = 0; i < n_loops; i++)
        edge_stop(loops[i]);
    for (size_t i = 0; i < n_loops; i++)
        edge_join(loops[i]);
}

int edge_program_main(int argc, char **argv, const struct edge_program *self)
{
    const struct program of_loops = {
        .name = self->name,
        .settings = {{self->settings, self->n_settings, self->config},
                     {settings, ARRAY_SIZE(settings), &config}},
        .check = check,
        .open = open_program,
        .start = start,
        .is_ready = is_ready,
        .serves = serves,
        .describe = describe,
        .delay_ms = &config.shutdown_delay_ms,
        .stop = stop,
    };

    program = self;
    return program_main(argc, argv, &of_loops);
}

#include "common/edge/program.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/log.h"
#include "common/base/process.h"
#include "common/base/version.h"
#include "common/crypto/crypto.h"
#include "common/http/admin.h"
#include "common/http/framing.h"
#include "common/trace/trace.h"

enum { LOOPS_MAX = 64, SETTINGS_MAX = 32, REQUEST_MS = 10000 };

struct program_facts program_facts;

static struct edge_config config;
static struct edge_options options;
static h2o_globalconf_t http;
static struct edge *loops[LOOPS_MAX];
static size_t n_loops;
static atomic_bool is_stopping;

/* -- settings -------------------------------------------------------------------------------- */

/* False: said why on standard error. */
static bool read_settings(const struct program *program)
{
    enum log_level level;
    char error[256] = "";

    if (config_load(program->settings, program->n_settings, program->config, error) != ST_OK ||
        config_load(edge_settings, EDGE_SETTINGS, &config, error) != ST_OK) {
        fprintf(stderr, "%s: %s\n", program->name, error);
        return false;
    }
    if (!log_level_parse(config.log_level, &level)) {
        fprintf(stderr, "%s: LOG_LEVEL must be debug, info, warning or error\n", program->name);
        return false;
    }
    if (!networks_parse(str_of(config.trusted_proxies), &program_facts.trusted)) {
        fprintf(stderr, "%s: TRUSTED_PROXIES must be networks such as 10.0.0.0/8, at most %d\n",
                program->name, NETWORKS_MAX);
        return false;
    }
    log_open(program->name, level);
    program_facts.logs_all = level == LOG_DEBUG;
    return true;
}

static void describe(const struct program *program)
{
    struct setting all[SETTINGS_MAX];

    must(program->n_settings + EDGE_SETTINGS <= SETTINGS_MAX);
    memcpy(all, program->settings, program->n_settings * sizeof(*all));
    memcpy(all + program->n_settings, edge_settings, sizeof(edge_settings));
    config_describe(all, program->n_settings + EDGE_SETTINGS, program->name);
}

/* -- the process ----------------------------------------------------------------------------- */

/* Every request, whatever its path and host, comes to the one handler. */
static void configure_http(const struct program *program)
{
    h2o_hostconf_t *host;

    h2o_config_init(&http);
    http.server_name = h2o_iovec_init(NULL, 0);
    http.http1.req_timeout = REQUEST_MS;
    http.http1.upgrade_to_http2 = 0;
    /* Never reached: the framing is checked first. */
    http.max_request_entity_size = 2 * FRAMING_BODY_MAX;
    host = h2o_config_register_host(&http, h2o_iovec_init(H2O_STRLIT("default")), 65535);
    h2o_create_handler(&host->fallback_path, sizeof(h2o_handler_t))->on_req = program->on_request;
}

/* A connection is a descriptor, and the bus and the log want some too. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* A loop that wakes others (clients, the bus) goes on until it has nothing to do, rather than be
   displaced by each of them: so what comes in meanwhile is handled together. */
static void prefer_batches(void)
{
    const struct sched_param none = {0};

    (void)sched_setscheduler(0, SCHED_BATCH, &none);
}

static bool is_ready(void *closure, char reason[128])
{
    if (atomic_load(&is_stopping)) {
        snprintf(reason, 128, "shutting down");
        return false;
    }
    for (size_t i = 0; i < n_loops; i++)
        if (!edge_is_ready(loops[i])) {
            snprintf(reason, 128, "the bus is down or does not answer");
            return false;
        }
    for (size_t i = 0; i < n_loops; i++)
        if (edge_clock_is_apart(loops[i])) {
            snprintf(reason, 128, "its clock is more than 5 s from the services'");
            return false;
        }
    return true;
}

/* Until a signal asks for the end; all threads have these signals blocked. */
static void serve(const sigset_t *ends)
{
    int signal_number = 0;

    LOG(LOG_INFO, "serving", log_int("port", options.port), log_int("tls_port", options.tls_port),
        log_int("threads", (int64_t)n_loops));
    must(sigwait(ends, &signal_number) == 0);
    LOG(LOG_INFO, "stopping", log_str("signal", strsignal(signal_number)),
        log_int("delay_ms", config.shutdown_delay_ms));
    atomic_store(&is_stopping, true);
    (void)sigtimedwait(ends, NULL,
                       &(struct timespec){.tv_sec = config.shutdown_delay_ms / 1000,
                                          .tv_nsec = config.shutdown_delay_ms % 1000 * 1000000});
}

static void prepare_process(sigset_t *ends)
{
    process_prepare(ends);
    crypto_open();
    raise_descriptor_limit();
    prefer_batches();
}

static bool start_loops(const struct program *program)
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

static void stop_loops(void)
{
    for (size_t i = 0; i < n_loops; i++)
        edge_stop(loops[i]);
    for (size_t i = 0; i < n_loops; i++)
        edge_join(loops[i]);
}

static int run(const struct program *program)
{
    static char name[64];
    const struct admin_options admin_options = {
        .address = config.admin_address, .port = (uint16_t)config.admin_port, .is_ready = is_ready};
    struct admin *admin = NULL;
    bool is_started;
    sigset_t ends;

    prepare_process(&ends);
    configure_http(program);
    snprintf(name, sizeof(name), "%s-%s", program->name, config.instance);
    options = (struct edge_options){.name = name,
                                    .nats_url = config.nats_url,
                                    .nats_tls = &config.nats_tls,
                                    .inbox_prefix = bus_user_inbox(program->user),
                                    .command_timeout_ms = config.command_timeout_ms,
                                    .bus_timeout_ms = program->bus_timeout_ms,
                                    .connections_max = (size_t)config.max_connections,
                                    .calls_max = program->calls_max,
                                    .trusted = &program_facts.trusted,
                                    .http = &http};
    if (!program->open(&options) || trace_open(&config.trace, program->name, name) != ST_OK)
        return EXIT_FAILURE;
    is_started = start_loops(program) && admin_start(&admin_options, &admin) == ST_OK;
    if (is_started)
        serve(&ends);
    stop_loops();
    admin_stop(admin);
    trace_close();
    return is_started ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int usage(FILE *to, const char *name, int code)
{
    fprintf(to,
            "usage: %s [--print-config | --describe-config | --version | --help]\n"
            "Settings come from the environment; --describe-config lists them.\n",
            name);
    return code;
}

int program_main(int argc, char **argv, const struct program *program)
{
    const char *option = argc > 1 ? argv[1] : "";

    if (argc > 2)
        return usage(stderr, program->name, 2);
    if (strcmp(option, "--help") == 0)
        return usage(stdout, program->name, 0);
    if (strcmp(option, "--version") == 0)
        return version_print();
    if (strcmp(option, "--describe-config") == 0) {
        describe(program);
        return 0;
    }
    if (argc > 1 && strcmp(option, "--print-config") != 0)
        return usage(stderr, program->name, 2);
    if (!read_settings(program))
        return EXIT_FAILURE;
    if (argc > 1) {
        config_print(program->settings, program->n_settings, program->config);
        config_print(edge_settings, EDGE_SETTINGS, &config);
        return 0;
    }
    return run(program);
}

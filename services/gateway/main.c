/*
 * gateway - speaks HTTP with the customers' backends, and the bus with the services.
 *
 * The main thread starts the loops and waits for SIGTERM or SIGINT.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/log.h"
#include "common/http/admin.h"
#include "services/gateway/exchange.h"
#include "services/gateway/gateway.h"
#include "services/gateway/meter.h"

#define THREADS_MOST 64

static struct common common;
static struct gateway *gateways[THREADS_MOST];
static size_t n_gateways;
static atomic_bool is_stopping;

static bool read_log_level(const char *text, enum log_level *out)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum log_level)i;
            return true;
        }
    return false;
}

/* Settings into `common`. False: said why on standard error. */
static bool read_settings(void)
{
    struct settings *settings = &common.settings;
    enum log_level level;
    char error[256] = "";

    if (config_load(gateway_settings, n_gateway_settings, settings, error) != ST_OK) {
        fprintf(stderr, "gateway: %s\n", error);
        return false;
    }
    if (!read_log_level(settings->log_level, &level)) {
        fprintf(stderr, "gateway: LOG_LEVEL must be debug, info, warning or error\n");
        return false;
    }
    if (!networks_parse(str_of(settings->trusted_proxies), &common.trusted)) {
        fprintf(stderr,
                "gateway: TRUSTED_PROXIES must be networks such as 10.0.0.0/8, at most %d\n",
                NETWORKS_MOST);
        return false;
    }
    log_open("gateway", level);
    common.logs_all = level == LOG_DEBUG;
    return true;
}

/* Every request, whatever its path and host, comes to the one handler. */
static void configure_http(h2o_globalconf_t *http)
{
    h2o_hostconf_t *host;

    h2o_config_init(http);
    http->server_name = h2o_iovec_init(NULL, 0);
    http->http1.req_timeout = 10000;
    http->http1.upgrade_to_http2 = 0;
    /* Never reached: the framing is judged first. */
    http->max_request_entity_size = 2 * FRAMING_BODY_MOST;
    host = h2o_config_register_host(http, h2o_iovec_init(H2O_STRLIT("default")), 65535);
    h2o_create_handler(&host->fallback_path, sizeof(h2o_handler_t))->on_req = exchange_begin;
}

static bool open_tls(void)
{
    const struct settings *settings = &common.settings;

    if (settings->tls_port == 0)
        return true;
    common.tls = listener_tls(settings->tls_cert, settings->tls_key);
    return common.tls != NULL;
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

/* Memory holds keys of customers on their way. */
static void forbid_core_dumps(void)
{
    const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
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
    for (size_t i = 0; i < n_gateways; i++)
        if (!gateway_is_ready(gateways[i])) {
            snprintf(reason, 128, "the bus is down or does not answer");
            return false;
        }
    return true;
}

/* Until a signal asks for the end; all threads have these signals blocked. */
static void serve(const sigset_t *ends)
{
    int signal_number = 0;

    LOG(LOG_INFO, "serving", log_int("port", common.settings.port),
        log_int("tls_port", common.settings.tls_port), log_int("threads", (int64_t)n_gateways));
    must(sigwait(ends, &signal_number) == 0);
    LOG(LOG_INFO, "stopping", log_str("signal", strsignal(signal_number)));
    atomic_store(&is_stopping, true);
    for (size_t i = 0; i < n_gateways; i++)
        gateway_stop(gateways[i]);
    for (size_t i = 0; i < n_gateways; i++)
        gateway_join(gateways[i]);
}

static int start(void)
{
    const struct settings *settings = &common.settings;
    struct admin *admin = NULL;
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    must(pthread_sigmask(SIG_BLOCK, &ends, NULL) == 0);
    (void)signal(SIGPIPE, SIG_IGN);
    forbid_core_dumps();
    raise_descriptor_limit();
    prefer_batches();
    meter_open();
    configure_http(&common.http);
    if (!open_tls())
        return EXIT_FAILURE;
    for (; n_gateways < (size_t)settings->threads; n_gateways++) {
        gateways[n_gateways] = gateway_start(&common);
        if (gateways[n_gateways] == NULL)
            return EXIT_FAILURE;
    }
    const struct admin_options options = {.address = settings->admin_address,
                                          .port = (uint16_t)settings->admin_port,
                                          .is_ready = is_ready};
    if (admin_start(&options, &admin) != ST_OK)
        return EXIT_FAILURE;
    serve(&ends);
    admin_stop(admin);
    return EXIT_SUCCESS;
}

static int usage(FILE *to, int code)
{
    fprintf(to, "usage: gateway [--print-config | --describe-config | --help]\n"
                "Settings come from the environment; --describe-config lists them.\n");
    return code;
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return usage(stderr, 2);
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout, 0);
    if (argc == 2 && strcmp(argv[1], "--describe-config") == 0) {
        config_describe(gateway_settings, n_gateway_settings, "gateway");
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--print-config") != 0)
        return usage(stderr, 2);
    if (!read_settings())
        return EXIT_FAILURE;
    if (argc == 2) {
        config_print(gateway_settings, n_gateway_settings, &common.settings);
        return 0;
    }
    return start();
}

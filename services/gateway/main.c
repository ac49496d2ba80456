/* gateway - speaks HTTP with API clients and sends commands to the services over the bus. */
#include "services/gateway/gateway.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "common/runtime/edge_program.h"
#include "proto/subject.h"
#include "services/gateway/api_request.h"
#include "services/gateway/familiar.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/key_lookup.h"
#include "services/gateway/key_usage.h"
#include "services/gateway/postponed.h"
#include "services/gateway/wait_list.h"

/* Fail fast: API clients retry. */
#define BUS_TIMEOUT_MS 100
#define KEYS_KNOWN     65536
#define KEYS_OTHER     10000
/* One call at a time for each API request, at most three more for its key (a lookup and two leases),
   and one each for usage reports and the clock. */
#define CALLS_MAX (4 * API_REQUESTS_MAX + 2)

/* -- settings -------------------------------------------------------------------------------- */

/* In addition to those of every edge_program; constant once threads run. */
struct gateway_config {
    const char *address;
    int64_t port;
    int64_t tls_port;
    const char *tls_cert, *tls_key;
    int64_t auth_failure_limit;
    int64_t threads;
    int64_t usage_interval_ms;
};

static struct gateway_config config;

#define AT(member) .offset = offsetof(struct gateway_config, member)

static const struct setting settings[] = {
    {.name = "GATEWAY_ADDRESS",
     .type = SETTING_ADDRESS,
     AT(address),
     .fallback = "127.0.0.1",
     .meaning = "Address the API listens on"},
    {.name = "GATEWAY_PORT",
     .type = SETTING_INT,
     AT(port),
     .fallback = "8080",
     .min = 1,
     .max = 65535,
     .meaning = "Port the API listens on"},
    {.name = "GATEWAY_TLS_PORT",
     .type = SETTING_INT,
     AT(tls_port),
     .fallback = "0",
     .min = 0,
     .max = 65535,
     .meaning = "Port of a second listener that terminates TLS 1.2 and 1.3; 0 = none"},
    {.name = "GATEWAY_TLS_CERT",
     .type = SETTING_STRING,
     AT(tls_cert),
     .fallback = "",
     .meaning = "File with the certificate and its chain, in PEM; read again when it has changed"},
    {.name = "GATEWAY_TLS_KEY",
     .type = SETTING_STRING,
     AT(tls_key),
     .fallback = "",
     .meaning = "File with the certificate's private key, in PEM; read again when it has changed"},
    {.name = "AUTH_FAILURE_LIMIT",
     .type = SETTING_INT,
     AT(auth_failure_limit),
     .fallback = "1000",
     .min = 1,
     .max = 1000000000,
     .meaning = "Failed authentications per minute and client address (IPv6: a /64) before 429; "
                "sixteen times as many for its network (a /24, IPv6: a /48)"},
    {.name = "GATEWAY_THREADS",
     .type = SETTING_INT,
     AT(threads),
     .fallback = "1",
     .min = 1,
     .max = 64,
     .meaning = "Event loops, each with its own listener and bus connection"},
    {.name = "USAGE_INTERVAL_MS",
     .type = SETTING_INT,
     AT(usage_interval_ms),
     .fallback = "10000",
     .min = 100,
     .max = 60000,
     .meaning = "Milliseconds between reports of key usage to access, which the "
                "dashboard shows"},
};

/* -- a loop ---------------------------------------------------------------------------------- */

static void on_usage(struct timer *timer)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, usage_timer, timer);

    timer_start(&gateway->edge.timers, timer, config.usage_interval_ms, on_usage);
    key_usage_report(gateway);
}

static void on_open(struct edge *edge)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, edge, edge);
    uint64_t seed;

    crypto_random(&seed, sizeof(seed));
    gateway->keys = key_cache_new(KEYS_KNOWN, KEYS_OTHER);
    list_init(&gateway->parked);
    gateway->postponed = postponed_new(edge);
    gateway->throttle = throttle_new((uint32_t)config.auth_failure_limit, seed);
    gateway->familiar = familiar_new(seed);
    h2o_multithread_register_receiver(edge->context.queue, &gateway->invalidations,
                                      invalidation_deliver);
    bus_listen(edge->bus, SUBJECT_NOTICE_ACCESS, invalidation_post, gateway);
    gateway->usage = key_usage_new();
    timer_start(&edge->timers, &gateway->usage_timer, config.usage_interval_ms, on_usage);
}

static void forget_failure(struct key *key, void *closure)
{
    key_reachable(key);
}

static void on_link_up(struct edge *edge)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, edge, edge);

    key_cache_each(gateway->keys, forget_failure, NULL);
}

static void on_bus_settled(struct edge *edge)
{
    wait_list_resume(&H2O_STRUCT_FROM_MEMBER(struct gateway, edge, edge)->parked);
}

static void on_close(struct edge *edge)
{
    key_usage_finish(H2O_STRUCT_FROM_MEMBER(struct gateway, edge, edge));
}

static struct edge *new_loop(void)
{
    struct gateway *gateway = heap_zeroed(1, sizeof(*gateway));

    return &gateway->edge;
}

/* -- the program ----------------------------------------------------------------------------- */

static size_t count_loops(void)
{
    return (size_t)config.threads;
}

static bool open_program(struct edge_options *options)
{
    gateway_metrics_open();
    options->address = config.address;
    options->port = (uint16_t)config.port;
    options->hooks = (struct edge_hooks){.on_open = on_open,
                                         .on_link_up = on_link_up,
                                         .on_bus_settled = on_bus_settled,
                                         .on_close = on_close};
    if (config.tls_port == 0)
        return true;
    options->tls_port = (uint16_t)config.tls_port;
    options->certificate = tls_certificate_open(config.tls_cert, config.tls_key);
    return options->certificate != NULL;
}

static const struct edge_program program = {
    .name = "gateway",
    .user = BUS_USER_GATEWAY,
    .settings = settings,
    .n_settings = ARRAY_SIZE(settings),
    .config = &config,
    .on_request = api_request_begin,
    .calls_max = CALLS_MAX,
    .bus_timeout_ms = BUS_TIMEOUT_MS,
    .open = open_program,
    .count_loops = count_loops,
    .new_loop = new_loop,
};

int main(int argc, char **argv)
{
    return edge_program_main(argc, argv, &program);
}

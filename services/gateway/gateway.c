#include "services/gateway/gateway.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "proto/subject.h"
#include "services/gateway/api_request.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/invalidation.h"
#include "services/gateway/wait_list.h"

/* Fail fast: API clients retry. */
#define BUS_TIMEOUT_MS 100
#define KEYS_KNOWN     65536
#define KEYS_OTHER     10000
/* An API request awaits one call at a time, a key at most two more, usage and the clock one each.
   */
#define CALLS_MAX (3 * API_REQUESTS_MAX + 2)

static struct gateway_settings settings;

/* -- a loop ---------------------------------------------------------------------------------- */

static void on_usage(h2o_timeout_entry_t *timer)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, usage_timer, timer);

    h2o_timeout_link(gateway->edge.context.loop, &gateway->usage_timeout, timer);
    key_usage_report(gateway);
}

static void on_open(struct edge *edge)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, edge, edge);
    h2o_loop_t *loop = edge->context.loop;
    uint64_t seed;

    crypto_random(&seed, sizeof(seed));
    gateway->keys = key_cache_new(KEYS_KNOWN, KEYS_OTHER);
    h2o_linklist_init_anchor(&gateway->parked);
    gateway->throttle = throttle_new((uint32_t)settings.auth_failure_limit, seed);
    gateway->familiar = familiar_new(seed);
    h2o_multithread_register_receiver(edge->context.queue, &gateway->invalidations,
                                      invalidation_deliver);
    bus_listen(edge->bus, SUBJECT_NOTICE_ACCESS, invalidation_post, gateway);
    key_usage_init(&gateway->usage);
    h2o_timeout_init(loop, &gateway->usage_timeout, (uint64_t)settings.usage_interval_ms);
    gateway->usage_timer.cb = on_usage;
    h2o_timeout_link(loop, &gateway->usage_timeout, &gateway->usage_timer);
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
    struct gateway *gateway = calloc(1, sizeof(*gateway));

    must(gateway != NULL);
    return &gateway->edge;
}

/* -- the program ----------------------------------------------------------------------------- */

static size_t count_loops(void)
{
    return (size_t)settings.threads;
}

static bool open_program(struct edge_options *options)
{
    gateway_metrics_open();
    options->address = settings.address;
    options->port = (uint16_t)settings.port;
    options->hooks = (struct edge_hooks){.on_open = on_open,
                                         .on_link_up = on_link_up,
                                         .on_bus_settled = on_bus_settled,
                                         .on_close = on_close};
    if (settings.tls_port == 0)
        return true;
    options->tls_port = (uint16_t)settings.tls_port;
    options->tls = listener_tls(settings.tls_cert, settings.tls_key);
    return options->tls != NULL;
}

const struct program gateway_program = {
    .name = "gateway",
    .user = BUS_USER_GATEWAY,
    .settings = gateway_setting_table,
    .n_settings = GATEWAY_SETTINGS,
    .config = &settings,
    .on_request = api_request_begin,
    .calls_max = CALLS_MAX,
    .bus_timeout_ms = BUS_TIMEOUT_MS,
    .open = open_program,
    .count_loops = count_loops,
    .new_loop = new_loop,
};

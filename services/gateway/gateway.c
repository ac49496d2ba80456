#include "services/gateway/gateway.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "proto/subject.h"
#include "services/gateway/exchange.h"
#include "services/gateway/meter.h"
#include "services/gateway/news.h"
#include "services/gateway/waiter.h"

/* Servers rather hear at once that they are to try again. */
#define BUS_PATIENCE_MS 100
#define KEYS_KNOWN      65536
#define KEYS_OTHER      10000
/* An exchange awaits one call at a time, a key at most two more, usage one. */
#define CALLS_MOST (3 * EXCHANGES_MOST + 1)

static struct settings settings;

/* -- a loop ---------------------------------------------------------------------------------- */

static void on_usage(h2o_timeout_entry_t *timer)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, usage_timer, timer);

    h2o_timeout_link(gateway->edge.context.loop, &gateway->usage_timeout, timer);
    usage_tell(gateway);
}

static void on_open(struct edge *edge)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, edge, edge);
    h2o_loop_t *loop = edge->context.loop;
    uint64_t seed;

    crypto_random(&seed, sizeof(seed));
    gateway->keys = key_cache_new(KEYS_KNOWN, KEYS_OTHER);
    h2o_linklist_init_anchor(&gateway->on_hold);
    gateway->throttle = throttle_new((uint32_t)settings.auth_failure_limit, seed);
    h2o_multithread_register_receiver(edge->context.queue, &gateway->news, news_deliver);
    bus_listen(edge->bus, SUBJECT_NOTICE_ACCESS, news_post, gateway);
    usage_init(&gateway->usage);
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
    waiters_resume(&H2O_STRUCT_FROM_MEMBER(struct gateway, edge, edge)->on_hold);
}

static void on_close(struct edge *edge)
{
    usage_finish(H2O_STRUCT_FROM_MEMBER(struct gateway, edge, edge));
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
    meter_open();
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
    .settings = gateway_settings,
    .n_settings = GATEWAY_SETTINGS,
    .config = &settings,
    .on_request = exchange_begin,
    .calls_most = CALLS_MOST,
    .bus_patience_ms = BUS_PATIENCE_MS,
    .open = open_program,
    .count_loops = count_loops,
    .new_loop = new_loop,
};

#include "services/gateway/gateway.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"
#include "common/edge/edge_meter.h"
#include "common/http/recycle.h"
#include "proto/permission.h"
#include "proto/subject.h"
#include "services/gateway/lookup.h"
#include "services/gateway/meter.h"
#include "services/gateway/post.h"

#define USAGE_MS    10000
#define SEND_MS     10000
#define FAREWELL_MS 500
#define STOP_MS     8000
#define TURN_MS     100
/* A reply that is later than this after the deadline is dropped. */
#define REPLY_LATE_MS (4 * CALL_GRACE_MS)
#define PULSE_TOKEN   UINT64_MAX /* no call's: those have a place in their last 16 bits */
#define KEYS_KNOWN    65536
#define KEYS_OTHER    10000
/* An exchange awaits one call at a time, a key at most two more. */
#define CALLS_MOST (3 * EXCHANGES_MOST)

/* -- timers ---------------------------------------------------------------------------------- */

void gateway_note_bus(struct gateway *gateway)
{
    bool ready = calls_can_start(&gateway->calls);

    if (ready == atomic_load(&gateway->ready))
        return;
    atomic_store(&gateway->ready, ready);
    metric_add(edge_meter.loops_ready, ready ? 1 : -1);
    if (ready)
        LOG(LOG_INFO, "bus answers");
    else
        LOG(LOG_WARNING, bus_is_up(gateway->bus) ? "bus is silent; requests are refused"
                                                 : "bus is down; requests are refused");
}

static void on_pulse(h2o_timeout_entry_t *timer)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, pulse_timer, timer);

    h2o_timeout_link(gateway->context.loop, &gateway->pulse_timeout, timer);
    if (pulse_turn(&gateway->pulse)) {
        /* What cannot take another beat is no less silent for that. */
        if (bus_pulse(gateway->bus, PULSE_TOKEN) != ST_OK && !pulse_is_silent(&gateway->pulse))
            pulse_lost(&gateway->pulse);
    } else {
        metric_add(edge_meter.pulses_missed, 1);
    }
    gateway_note_bus(gateway);
    listener_resume(&gateway->plain);
    listener_resume(&gateway->secure);
}

static void on_usage(h2o_timeout_entry_t *timer)
{
    struct gateway *gateway = H2O_STRUCT_FROM_MEMBER(struct gateway, usage_timer, timer);

    h2o_timeout_link(gateway->context.loop, &gateway->usage_timeout, timer);
    usage_tell(gateway);
}

/* -- the bus's sockets, as seen by the loop -------------------------------------------------- */

static void on_reply(void *closure, uint64_t token, enum bus_reply_kind kind,
                     struct bus_message *message)
{
    struct gateway *gateway = closure;

    if (token != PULSE_TOKEN) {
        calls_answer(&gateway->calls, token, kind, message);
        return;
    }
    pulse_heard(&gateway->pulse);
    bus_message_free(message);
}

static void on_bus_readable(h2o_socket_t *sock, const char *err)
{
    struct gateway *gateway = sock->data;

    bus_process(gateway->bus);
}

/* Nothing to do here: the loop's turn flushes. */
static void on_bus_writable(h2o_socket_t *sock, const char *err)
{
}

static h2o_socket_t *watch(struct gateway *gateway, int fd, h2o_socket_cb on_readable)
{
    int copy = fd >= 0 ? dup(fd) : -1; /* h2o closes what it is given */
    h2o_socket_t *sock;

    if (copy < 0)
        return NULL;
    sock = h2o_evloop_socket_create(gateway->context.loop, copy, H2O_SOCKET_FLAG_DONT_READ);
    sock->data = gateway;
    h2o_socket_read_start(sock, on_readable);
    return sock;
}

static void on_bus_changed(h2o_socket_t *sock, const char *err)
{
    struct gateway *gateway = sock->data;

    if (!bus_changed(gateway->bus))
        return;
    if (gateway->bus_socket != NULL)
        h2o_socket_close(gateway->bus_socket);
    gateway->bus_socket = watch(gateway, bus_socket(gateway->bus), on_bus_readable);
}

static void flush(struct gateway *gateway)
{
    h2o_socket_t *sock = gateway->bus_socket;

    if (!bus_flush(gateway->bus) && sock != NULL && !h2o_socket_is_writing(sock))
        h2o_socket_notify_write(sock, on_bus_writable);
}

/* -- life ------------------------------------------------------------------------------------ */

static bool open_bus(struct gateway *gateway)
{
    const struct settings *settings = &gateway->common->settings;
    char name[64];
    struct bus_options options = {
        .url = settings->nats_url,
        .name = name,
        .tls = &settings->bus_tls,
        .inbox_prefix = bus_user_inbox(BUS_USER_GATEWAY),
        .reply_patience_ms = (int)settings->command_timeout_ms + REPLY_LATE_MS,
        .on_link = post_link,
        .closure = gateway,
    };

    snprintf(name, sizeof(name), "gateway-%s", settings->instance);
    gateway->bus = bus_connect(&options);
    if (gateway->bus == NULL)
        return false;
    bus_open_inbox(gateway->bus, on_reply, gateway);
    bus_listen(gateway->bus, SUBJECT_NOTICE_ACCESS, post_notice, gateway);
    gateway->bus_changed = watch(gateway, bus_changed_fd(gateway->bus), on_bus_changed);
    return true;
}

static bool open_listeners(struct gateway *gateway)
{
    const struct settings *settings = &gateway->common->settings;
    struct listener_options options = {.address = settings->address,
                                       .port = (uint16_t)settings->port,
                                       .shared = settings->threads > 1};

    if (listener_open(&gateway->plain, &gateway->clients, &gateway->context, &options) != ST_OK)
        return false;
    if (gateway->common->tls == NULL)
        return true;
    options.port = (uint16_t)settings->tls_port;
    options.tls = gateway->common->tls;
    return listener_open(&gateway->secure, &gateway->clients, &gateway->context, &options) == ST_OK;
}

static void start_timer(struct gateway *gateway, h2o_timeout_t *timeout, uint64_t ms,
                        h2o_timeout_entry_t *entry, h2o_timeout_cb cb)
{
    h2o_timeout_init(gateway->context.loop, timeout, ms);
    entry->cb = cb;
    h2o_timeout_link(gateway->context.loop, timeout, entry);
}

static bool open_all(struct gateway *gateway)
{
    const struct common *common = gateway->common;
    h2o_loop_t *loop = h2o_evloop_create();
    uint64_t seed;

    must(loop != NULL);
    h2o_context_init(&gateway->context, loop, (h2o_globalconf_t *)&common->http);
    h2o_multithread_register_receiver(gateway->context.queue, &gateway->inbox, post_deliver);
    clients_init(&gateway->clients, (size_t)common->settings.max_connections);
    linger_init(&gateway->lingerers, loop);
    crypto_random(&seed, sizeof(seed));
    gateway->keys = key_cache_new(KEYS_KNOWN, KEYS_OTHER);
    gateway->throttle = throttle_new((uint32_t)common->settings.auth_failure_limit, seed);
    if (!open_listeners(gateway) || !open_bus(gateway))
        return false;
    calls_init(&gateway->calls, loop, gateway->bus, &gateway->pulse, CALLS_MOST,
               common->settings.command_timeout_ms);
    h2o_timeout_init(loop, &gateway->send_timeout, SEND_MS);
    start_timer(gateway, &gateway->pulse_timeout, PULSE_MS, &gateway->pulse_timer, on_pulse);
    start_timer(gateway, &gateway->usage_timeout, USAGE_MS, &gateway->usage_timer, on_usage);
    return true;
}

static void turn(struct gateway *gateway)
{
    flush(gateway);
    (void)h2o_evloop_run(gateway->context.loop, TURN_MS); /* fails when a signal came in */
}

static void turn_while(struct gateway *gateway, const size_t *count, int64_t most_ms)
{
    int64_t until_us = clock_mono_us() + most_ms * 1000;

    while (*count > 0 && clock_mono_us() < until_us)
        turn(gateway);
}

/* From here on every answer closes its connection. Clients that are busy are gone soon, requests
   that take long are waited for, and what is left after that is idle or lost. */
static void drain(struct gateway *gateway)
{
    listener_close(&gateway->plain);
    listener_close(&gateway->secure);
    h2o_context_request_shutdown(&gateway->context);
    turn_while(gateway, &gateway->clients.n, FAREWELL_MS);
    turn_while(gateway, &gateway->exchanges, STOP_MS);
    LOG(LOG_INFO, "stopped", log_int("cut_off", (int64_t)gateway->exchanges));
    clients_shut_down(&gateway->clients);
    turn_while(gateway, &gateway->clients.n, FAREWELL_MS);
    linger_close_all(&gateway->lingerers);
    usage_tell(gateway);
}

static void *run(void *self)
{
    struct gateway *gateway = self;

    gateway->is_open = open_all(gateway);
    sem_post(&gateway->opened);
    if (!gateway->is_open)
        return NULL;
    while (!gateway->stopping)
        turn(gateway);
    drain(gateway);
    bus_free(gateway->bus);
    recycle_release();
    return NULL;
}

struct gateway *gateway_start(const struct common *common)
{
    struct gateway *gateway = calloc(1, sizeof(*gateway));

    must(gateway != NULL && sem_init(&gateway->opened, 0, 0) == 0);
    gateway->common = common;
    must(pthread_create(&gateway->thread, NULL, run, gateway) == 0);
    while (sem_wait(&gateway->opened) != 0)
        ; /* interrupted */
    if (gateway->is_open)
        return gateway;
    gateway_join(gateway);
    return NULL;
}

void gateway_stop(struct gateway *gateway)
{
    post_stop(gateway);
}

void gateway_join(struct gateway *gateway)
{
    (void)pthread_join(gateway->thread, NULL);
}

bool gateway_is_ready(const struct gateway *gateway)
{
    return atomic_load(&gateway->ready);
}

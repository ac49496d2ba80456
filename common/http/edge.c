#include "common/http/edge.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"
#include "common/http/edge_metrics.h"
#include "common/http/event_loop.h"

#define SEND_BUDGET_BYTES ((size_t)64 * 1024 * 1024)
#define FAREWELL_MS       500
#define STOP_MS           8000

/* -- readiness ------------------------------------------------------------------------------- */

/* Before the bus has answered, a client would only get 503. */
static bool listen_to_clients(struct edge *edge)
{
    if (listener_listen(&edge->plain) && listener_listen(&edge->secure)) {
        atomic_store(&edge->listens, true);
        return true;
    }
    if (!edge->found_port_taken)
        LOG(LOG_ERROR, "our port is in use by another process; retrying",
            log_int("port", edge->options->port), log_int("tls_port", edge->options->tls_port));
    edge->found_port_taken = true;
    return false;
}

static void note_bus(struct edge *edge)
{
    bool ready = calls_can_start(&edge->calls) && listen_to_clients(edge);

    atomic_store(&edge->bus_trouble, bus_trouble(edge->bus));
    if (edge->options->hooks.on_bus_settled != NULL && !calls_may_wait(&edge->calls))
        edge->options->hooks.on_bus_settled(edge);
    if (ready == atomic_load(&edge->ready))
        return;
    atomic_store(&edge->ready, ready);
    metric_add(edge_metrics.loops_ready, ready ? 1 : -1);
    if (!ready) {
        LOG(LOG_WARNING, bus_is_up(edge->bus) ? "bus is silent; requests are refused"
                                              : "bus is down; requests are refused");
        return;
    }
    LOG(LOG_INFO, "bus responds again");
    edge_clock_hear(&edge->clock);
}

/* -- the heartbeat --------------------------------------------------------------------------- */

static void on_heartbeat_tick(struct timer *timer);

static void tick_heartbeat(struct edge *edge)
{
    if (heartbeat_tick(&edge->heartbeat)) {
        if (bus_send_heartbeat(edge->bus, heartbeat_handle(&edge->heartbeat)) != ST_OK)
            heartbeat_not_sent(&edge->heartbeat);
    } else {
        metric_add(edge_metrics.heartbeats_missed, 1);
    }
    note_bus(edge);
}

/* Something depends on the next tick: a request, readiness while the bus does not answer, or a
   listener that does not accept. */
static bool is_in_use(const struct edge *edge)
{
    return edge->requests > 0 || edge->calls.n_started != edge->n_calls_ticked ||
           !atomic_load(&edge->ready) || edge->plain.paused || edge->secure.paused;
}

static void schedule_tick(struct edge *edge)
{
    const bool is_short = !edge->rests || edge->heartbeat.awaited;

    timer_start(&edge->timers, &edge->heartbeat_timer, is_short ? HEARTBEAT_MS : HEARTBEAT_REST_MS,
                on_heartbeat_tick);
}

/* At the end of a step: the first call after a rest takes a heartbeat along, since the latest one
   says nothing of the bus as it is now. */
static void end_rest(struct edge *edge)
{
    if (!edge->rests || !is_in_use(edge))
        return;
    edge->rests = false;
    if (edge->heartbeat.awaited)
        return; /* one is on its way already */
    tick_heartbeat(edge);
    schedule_tick(edge);
}

static void on_heartbeat_tick(struct timer *timer)
{
    struct edge *edge = H2O_STRUCT_FROM_MEMBER(struct edge, heartbeat_timer, timer);
    const bool begins_rest = !edge->rests && !edge->heartbeat.awaited && !is_in_use(edge);

    bus_watch_retry(&edge->bus_watch);
    listener_resume(&edge->plain);
    listener_resume(&edge->secure);
    edge->n_calls_ticked = edge->calls.n_started;
    if (begins_rest)
        edge->rests = true;
    else
        tick_heartbeat(edge);
    schedule_tick(edge);
}

/* -- what other threads tell the loop -------------------------------------------------------- */

enum post_kind { POST_LINK_UP, POST_LINK_DOWN, POST_STOP };

struct post {
    h2o_multithread_message_t super;
    enum post_kind kind;
};

static void post(struct edge *edge, enum post_kind kind)
{
    struct post *what = heap_zeroed(1, sizeof(*what));

    what->kind = kind;
    h2o_multithread_send_message(&edge->inbox, &what->super);
}

static void post_link(void *edge, bool up)
{
    post(edge, up ? POST_LINK_UP : POST_LINK_DOWN);
}

static void handle_post(struct edge *edge, enum post_kind kind)
{
    switch (kind) {
    case POST_LINK_UP:
        if (edge->options->hooks.on_link_up != NULL)
            edge->options->hooks.on_link_up(edge);
        heartbeat_reset(&edge->heartbeat);
        tick_heartbeat(edge); /* does not wait for the timer */
        schedule_tick(edge);
        return;
    case POST_LINK_DOWN:
        heartbeat_reset(&edge->heartbeat);
        note_bus(edge);
        bus_watch_follow(&edge->bus_watch); /* calls that have not left are not lost */
        calls_lose_all(&edge->calls);
        return;
    case POST_STOP:
        edge->stopping = true;
        return;
    }
}

static void on_posts(h2o_multithread_receiver_t *inbox, h2o_linklist_t *messages)
{
    struct edge *edge = H2O_STRUCT_FROM_MEMBER(struct edge, inbox, inbox);

    while (!h2o_linklist_is_empty(messages)) {
        struct post *what = H2O_STRUCT_FROM_MEMBER(struct post, super.link, messages->next);

        h2o_linklist_unlink(&what->super.link);
        handle_post(edge, what->kind);
        free(what);
    }
}

/* -- replies --------------------------------------------------------------------------------- */

static void on_reply(void *closure, uint64_t handle, enum bus_reply_kind kind,
                     struct bus_message *message)
{
    struct edge *edge = closure;

    if (!heartbeat_has_handle(handle)) {
        calls_on_reply(&edge->calls, handle, kind, message);
        return;
    }
    heartbeat_received(&edge->heartbeat);
    note_bus(edge);
    if (edge->rests)
        schedule_tick(edge);
    bus_message_free(message);
}

static bool is_awaited(void *closure, uint64_t handle)
{
    const struct edge *edge = closure;

    return heartbeat_is_awaited(&edge->heartbeat, handle) || calls_is_pending(&edge->calls, handle);
}

/* -- life ------------------------------------------------------------------------------------ */

static bool open_bus(struct edge *edge)
{
    const struct edge_options *options = edge->options;
    struct bus_options bus = {
        .url = options->nats_url,
        .name = options->name,
        .settings = options->bus_settings,
        .inbox_prefix = options->inbox_prefix,
        .on_link = post_link,
        .closure = edge,
    };

    edge->bus = bus_connect(&bus);
    if (edge->bus == NULL)
        return false;
    bus_open_inbox(edge->bus, on_reply, is_awaited, edge);
    return bus_watch_open(&edge->bus_watch, edge->bus, edge->context.loop);
}

static bool open_listeners(struct edge *edge)
{
    const struct edge_options *options = edge->options;
    struct listener_options listener = {
        .address = options->address, .port = options->port, .shared = options->shared};

    if (listener_open(&edge->plain, &edge->connections, &edge->context, &listener) != ST_OK)
        return false;
    if (options->certificate == NULL)
        return true;
    listener.port = options->tls_port;
    listener.certificate = options->certificate;
    return listener_open(&edge->secure, &edge->connections, &edge->context, &listener) == ST_OK;
}

static void on_connection_closed(struct connections *connections)
{
    struct edge *edge = H2O_STRUCT_FROM_MEMBER(struct edge, connections, connections);

    listener_resume(&edge->plain);
    listener_resume(&edge->secure);
}

static bool open_all(struct edge *edge)
{
    const struct edge_options *options = edge->options;

    timers_init(&edge->timers, event_loop_create());
    h2o_context_init(&edge->context, edge->timers.loop, options->http);
    h2o_multithread_register_receiver(edge->context.queue, &edge->inbox, on_posts);
    connections_init(&edge->connections, &edge->timers, &options->connections);
    edge->connections.on_closed = on_connection_closed;
    lingering_close_init(&edge->lingering, &edge->timers);
    send_budget_init(&edge->send_budget, SEND_BUDGET_BYTES);
    if (!open_listeners(edge) || !open_bus(edge))
        return false;
    calls_init(&edge->calls, &edge->timers, edge->bus, &edge->heartbeat, options->calls_max,
               options->command_timeout_ms);
    heartbeat_init(&edge->heartbeat, options->bus_timeout_ms);
    edge_clock_open(&edge->clock, &edge->timers, &edge->calls);
    schedule_tick(edge);
    if (options->hooks.on_open != NULL)
        options->hooks.on_open(edge);
    return true;
}

static void run_once(struct edge *edge, int64_t max_ms)
{
    watchdog_kick();
    end_rest(edge);
    bus_watch_flush(&edge->bus_watch);
    (void)h2o_evloop_run(edge->context.loop, (int32_t)max_ms); /* fails if a signal interrupts it */
}

static void run_while(struct edge *edge, const size_t *count, int64_t max_ms)
{
    const int64_t until_us = clock_mono_us() + max_ms * 1000;
    int left_ms;

    while (*count > 0 &&
           (left_ms = clock_left_ms(until_us, clock_mono_us(), WATCHDOG_SLICE_MS)) > 0)
        run_once(edge, left_ms);
}

/* From now on every response closes its connection. Waits for busy clients to leave, ends idle
   connections, and waits for long requests; connections left after that are lost. */
static void drain(struct edge *edge)
{
    listener_close(&edge->plain);
    listener_close(&edge->secure);
    h2o_context_request_shutdown(&edge->context);
    run_while(edge, &edge->connections.n, FAREWELL_MS);
    connections_end_idle(&edge->connections);
    run_while(edge, &edge->connections.n, FAREWELL_MS);
    run_while(edge, &edge->requests, STOP_MS);
    LOG(LOG_INFO, "loop stopped", log_int("requests_aborted", (int64_t)edge->requests));
    connections_shut_down(&edge->connections);
    run_while(edge, &edge->connections.n, FAREWELL_MS);
    lingering_close_end_all(&edge->lingering);
    if (edge->options->hooks.on_close != NULL)
        edge->options->hooks.on_close(edge);
}

static void *run(void *self)
{
    struct edge *edge = self;

    edge->is_open = open_all(edge);
    sem_post(&edge->opened);
    if (!edge->is_open)
        return NULL;
    watchdog_begin("loop");
    while (!edge->stopping)
        run_once(edge, WATCHDOG_SLICE_MS);
    drain(edge);
    watchdog_end();
    bus_free(edge->bus);
    event_loop_end_thread();
    return NULL;
}

bool edge_start(struct edge *edge, const struct edge_options *options)
{
    must(sem_init(&edge->opened, 0, 0) == 0);
    edge->options = options;
    must(pthread_create(&edge->thread, NULL, run, edge) == 0);
    while (sem_wait(&edge->opened) != 0)
        ; /* interrupted */
    if (!edge->is_open)
        edge_join(edge);
    return edge->is_open;
}

void edge_stop(struct edge *edge)
{
    post(edge, POST_STOP);
}

void edge_join(struct edge *edge)
{
    (void)pthread_join(edge->thread, NULL);
}

const char *edge_bus_trouble(const struct edge *edge)
{
    return bus_trouble_text(atomic_load(&edge->bus_trouble));
}

bool edge_clock_is_skewed(const struct edge *edge)
{
    return atomic_load(&edge->clock.is_skewed);
}

bool edge_is_ready(const struct edge *edge)
{
    return atomic_load(&edge->ready);
}

bool edge_listens(const struct edge *edge)
{
    return atomic_load(&edge->listens);
}

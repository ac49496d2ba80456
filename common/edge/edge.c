#include "common/edge/edge.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/edge/edge_meter.h"
#include "common/http/recycle.h"

#define SEND_MS     10000
#define HELD_MOST   ((size_t)64 * 1024 * 1024)
#define FAREWELL_MS 500
#define STOP_MS     8000
#define TURN_MS     100
/* A reply that is later than this after the deadline is dropped. */
#define REPLY_LATE_MS (4 * CALL_GRACE_MS)
#define PULSE_TOKEN   UINT64_MAX /* no call's: those have a place in their last 16 bits */

/* -- readiness ------------------------------------------------------------------------------- */

static void note_bus(struct edge *edge)
{
    bool ready = calls_can_start(&edge->calls);

    if (edge->options->hooks.on_bus_settled != NULL && !calls_may_wait(&edge->calls))
        edge->options->hooks.on_bus_settled(edge);
    if (ready == atomic_load(&edge->ready))
        return;
    atomic_store(&edge->ready, ready);
    metric_add(edge_meter.loops_ready, ready ? 1 : -1);
    if (ready)
        LOG(LOG_INFO, "bus answers");
    else
        LOG(LOG_WARNING, bus_is_up(edge->bus) ? "bus is silent; requests are refused"
                                              : "bus is down; requests are refused");
}

static void on_pulse(h2o_timeout_entry_t *timer)
{
    struct edge *edge = H2O_STRUCT_FROM_MEMBER(struct edge, pulse_timer, timer);

    h2o_timeout_link(edge->context.loop, &edge->pulse_timeout, timer);
    if (pulse_turn(&edge->pulse)) {
        /* What cannot take another beat is no less silent for that. */
        if (bus_pulse(edge->bus, PULSE_TOKEN) != ST_OK && !pulse_is_silent(&edge->pulse))
            pulse_lost(&edge->pulse);
    } else {
        metric_add(edge_meter.pulses_missed, 1);
    }
    note_bus(edge);
    listener_resume(&edge->plain);
    listener_resume(&edge->secure);
}

/* -- what other threads tell the loop -------------------------------------------------------- */

enum post_kind { POST_LINK_UP, POST_LINK_DOWN, POST_STOP };

struct post {
    h2o_multithread_message_t super;
    enum post_kind kind;
};

static void post(struct edge *edge, enum post_kind kind)
{
    struct post *what = calloc(1, sizeof(*what));

    must(what != NULL);
    what->kind = kind;
    h2o_multithread_send_message(&edge->inbox, &what->super);
}

static void post_link(void *edge, bool up)
{
    post(edge, up ? POST_LINK_UP : POST_LINK_DOWN);
}

static void handle(struct edge *edge, enum post_kind kind)
{
    switch (kind) {
    case POST_LINK_UP:
        if (edge->options->hooks.on_link_up != NULL)
            edge->options->hooks.on_link_up(edge);
        pulse_lost(&edge->pulse);
        note_bus(edge);
        return;
    case POST_LINK_DOWN:
        pulse_lost(&edge->pulse);
        note_bus(edge);
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
        handle(edge, what->kind);
        free(what);
    }
}

/* -- the bus's sockets, as seen by the loop -------------------------------------------------- */

static void on_reply(void *closure, uint64_t token, enum bus_reply_kind kind,
                     struct bus_message *message)
{
    struct edge *edge = closure;

    if (token != PULSE_TOKEN) {
        calls_answer(&edge->calls, token, kind, message);
        return;
    }
    pulse_heard(&edge->pulse);
    note_bus(edge);
    bus_message_free(message);
}

static void on_bus_readable(h2o_socket_t *sock, const char *err)
{
    struct edge *edge = sock->data;

    bus_process(edge->bus);
}

/* Nothing to do here: the loop's turn flushes. */
static void on_bus_writable(h2o_socket_t *sock, const char *err)
{
}

static h2o_socket_t *watch(struct edge *edge, int fd, h2o_socket_cb on_readable)
{
    int copy = fd >= 0 ? dup(fd) : -1; /* h2o closes what it is given */
    h2o_socket_t *sock;

    if (copy < 0)
        return NULL;
    sock = h2o_evloop_socket_create(edge->context.loop, copy, H2O_SOCKET_FLAG_DONT_READ);
    sock->data = edge;
    h2o_socket_read_start(sock, on_readable);
    return sock;
}

static void on_bus_changed(h2o_socket_t *sock, const char *err)
{
    struct edge *edge = sock->data;

    if (!bus_changed(edge->bus))
        return;
    if (edge->bus_socket != NULL)
        h2o_socket_close(edge->bus_socket);
    edge->bus_socket = watch(edge, bus_socket(edge->bus), on_bus_readable);
}

static void flush(struct edge *edge)
{
    h2o_socket_t *sock = edge->bus_socket;

    if (!bus_flush(edge->bus) && sock != NULL && !h2o_socket_is_writing(sock))
        h2o_socket_notify_write(sock, on_bus_writable);
}

/* -- life ------------------------------------------------------------------------------------ */

static bool open_bus(struct edge *edge)
{
    const struct edge_options *options = edge->options;
    struct bus_options bus = {
        .url = options->nats_url,
        .name = options->name,
        .tls = options->nats_tls,
        .inbox_prefix = options->inbox_prefix,
        .reply_patience_ms = (int)options->command_timeout_ms + REPLY_LATE_MS,
        .on_link = post_link,
        .closure = edge,
    };

    edge->bus = bus_connect(&bus);
    if (edge->bus == NULL)
        return false;
    bus_open_inbox(edge->bus, on_reply, edge);
    edge->bus_changed = watch(edge, bus_changed_fd(edge->bus), on_bus_changed);
    return true;
}

static bool open_listeners(struct edge *edge)
{
    const struct edge_options *options = edge->options;
    struct listener_options listener = {
        .address = options->address, .port = options->port, .shared = options->shared};

    if (listener_open(&edge->plain, &edge->clients, &edge->context, &listener) != ST_OK)
        return false;
    if (options->tls == NULL)
        return true;
    listener.port = options->tls_port;
    listener.tls = options->tls;
    return listener_open(&edge->secure, &edge->clients, &edge->context, &listener) == ST_OK;
}

static bool open_all(struct edge *edge)
{
    const struct edge_options *options = edge->options;
    h2o_loop_t *loop = h2o_evloop_create();

    must(loop != NULL);
    h2o_context_init(&edge->context, loop, options->http);
    h2o_multithread_register_receiver(edge->context.queue, &edge->inbox, on_posts);
    clients_init(&edge->clients, options->connections_most);
    linger_init(&edge->lingerers, loop);
    h2o_timeout_init(loop, &edge->send_timeout, SEND_MS);
    held_init(&edge->held, HELD_MOST);
    if (!open_listeners(edge) || !open_bus(edge))
        return false;
    calls_init(&edge->calls, loop, edge->bus, &edge->pulse, options->calls_most,
               options->command_timeout_ms);
    pulse_init(&edge->pulse, options->bus_patience_ms);
    h2o_timeout_init(loop, &edge->pulse_timeout, PULSE_MS);
    edge->pulse_timer.cb = on_pulse;
    h2o_timeout_link(loop, &edge->pulse_timeout, &edge->pulse_timer);
    if (options->hooks.on_open != NULL)
        options->hooks.on_open(edge);
    return true;
}

static void turn(struct edge *edge)
{
    flush(edge);
    (void)h2o_evloop_run(edge->context.loop, TURN_MS); /* fails when a signal came in */
}

static void turn_while(struct edge *edge, const size_t *count, int64_t most_ms)
{
    int64_t until_us = clock_mono_us() + most_ms * 1000;

    while (*count > 0 && clock_mono_us() < until_us)
        turn(edge);
}

/* From here on every answer closes its connection. Clients that are busy are gone soon, requests
   that take long are waited for, and what is left after that is idle or lost. */
static void drain(struct edge *edge)
{
    listener_close(&edge->plain);
    listener_close(&edge->secure);
    h2o_context_request_shutdown(&edge->context);
    turn_while(edge, &edge->clients.n, FAREWELL_MS);
    turn_while(edge, &edge->requests, STOP_MS);
    LOG(LOG_INFO, "stopped", log_int("cut_off", (int64_t)edge->requests));
    clients_shut_down(&edge->clients);
    turn_while(edge, &edge->clients.n, FAREWELL_MS);
    linger_close_all(&edge->lingerers);
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
    while (!edge->stopping)
        turn(edge);
    drain(edge);
    bus_free(edge->bus);
    recycle_release();
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

bool edge_is_ready(const struct edge *edge)
{
    return atomic_load(&edge->ready);
}

#include "common/http/edge.h"
#include "common/http/edge_metrics.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "proto/subject.h"
#include "tests/support/nats_server.h"
#include "tests/support/port.h"

/* -- heartbeats over a bus ------------------------------------------------------------------- */

struct sender {
    struct heartbeat heartbeat;
    int n_asked;    /* calls of is_awaited() */
    int n_received; /* heartbeats that came back */
    uint64_t handle;
};

static void on_reply(void *closure, uint64_t handle, enum bus_reply_kind kind,
                     struct bus_message *message)
{
    struct sender *sender = closure;

    sender->n_received++;
    sender->handle = handle;
    bus_message_free(message);
}

static bool is_awaited(void *closure, uint64_t handle)
{
    struct sender *sender = closure;

    sender->n_asked++;
    cr_expect(heartbeat_has_handle(handle));
    return heartbeat_is_awaited(&sender->heartbeat, handle);
}

static void send_next(struct sender *sender, struct bus *bus)
{
    while (!heartbeat_tick(&sender->heartbeat))
        ;
    cr_assert_eq(bus_send_heartbeat(bus, heartbeat_handle(&sender->heartbeat)), ST_OK);
}

static void wait_until_at_least(struct bus *bus, const int *count, int n)
{
    const int64_t until_us = clock_mono_us() + INT64_C(30) * 1000 * 1000;

    while (*count < n && clock_mono_us() < until_us)
        bus_wait(bus, 5);
    cr_assert_geq(*count, n);
}

Test(edge, listens_for_one_heartbeat_however_many_a_silent_bus_was_sent)
{
    enum { SENT = 5 };
    struct sender sender = {.heartbeat = {.timeout_ticks = 4}};
    struct nats_server server;
    struct bus *bus;

    nats_server_prepare(&server, NULL);
    nats_server_start(&server);
    bus = bus_connect(&(struct bus_options){.url = server.url, .name = "test"});
    bus_open_inbox(bus, on_reply, is_awaited, &sender);
    while (!bus_is_up(bus))
        bus_wait(bus, 5);
    nats_server_pause(&server);
    for (int i = 0; i < SENT; i++)
        send_next(&sender, bus);
    wait_until_at_least(bus, &sender.n_asked, SENT); /* all slots but one are closed */
    nats_server_resume(&server);
    wait_until_at_least(bus, &sender.n_received, 1);
    cr_expect_eq(sender.handle, heartbeat_handle(&sender.heartbeat));
    heartbeat_received(&sender.heartbeat);
    send_next(&sender, bus); /* it arrives after all that are still in flight */
    wait_until_at_least(bus, &sender.n_received, 2);
    cr_expect_eq(sender.handle, heartbeat_handle(&sender.heartbeat));
    bus_free(bus);
    nats_server_stop(&server);
}

/* -- a link that is lost before the step ends --------------------------------------------------- */

enum { TURN_MS = 5, WITHIN_MS = 30000 };

static struct {
    struct edge edge;
    struct nats_server server;
    struct timer timer;
    sem_t ended;
    enum call_end end;
} unsent;

static void note_end(void *owner, enum call_end end, struct bus_message *message)
{
    unsent.end = end;
    sem_post(&unsent.ended);
}

/* The bus has noticed the loss when the step ends, in which the call would leave. */
static void call_and_lose_the_link(struct timer *timer)
{
    struct edge *edge = &unsent.edge;
    struct pollfd link = {.fd = bus_socket(edge->bus), .events = POLLIN};
    uint64_t handle;

    if (!calls_can_start(&edge->calls)) {
        timer_start(&edge->timers, timer, TURN_MS, call_and_lose_the_link);
        return;
    }
    cr_assert_eq(calls_start(&edge->calls,
                             &(struct call_request){.subject = SUBJECT_CONVERSATION_CREATE,
                                                    .timeout = CALL_TIMEOUT_OWNER,
                                                    .until_us = clock_mono_us() + 10000000,
                                                    .on_end = note_end},
                             &handle),
                 ST_OK);
    nats_server_kill(&unsent.server);
    while (bus_is_up(edge->bus)) {
        cr_assert_eq(poll(&link, 1, WITHIN_MS), 1);
        bus_process(edge->bus);
    }
}

static void call_soon(struct edge *edge)
{
    timer_start(&edge->timers, &unsent.timer, TURN_MS, call_and_lose_the_link);
}

/* -- other clocks ------------------------------------------------------------------------------ */

enum { FAR_MS = 10000, ASK_MS = 20 };

/* Then a minute takes the loop a quarter of a second. */
static void ask_often(struct edge *edge)
{
    edge->clock.look_ms = ASK_MS;
    timer_start(&edge->timers, &edge->clock.timer, ASK_MS, edge->clock.timer.on_due);
}

static void start_edge(struct edge *edge, const char *nats_url, void (*on_open)(struct edge *))
{
    static const struct networks nobody;
    static h2o_globalconf_t http;
    static struct edge_options options;

    edge_metrics_open("edge_test_");
    h2o_config_init(&http);
    (void)h2o_config_register_host(&http, h2o_iovec_init(H2O_STRLIT("default")), 65535);
    options = (struct edge_options){
        .name = "test",
        .nats_url = nats_url,
        .command_timeout_ms = 2000,
        .bus_timeout_ms = 1000,
        .connections = {.max = 16, .idle_ms = 75000, .request_ms = 10000, .trusted = &nobody},
        .calls_max = 64,
        .address = "127.0.0.1",
        .port = port_free(),
        .http = &http,
        .hooks.on_open = on_open,
    };
    cr_assert(edge_start(edge, &options));
}

static void answer(struct bus *access, struct bus_mailbox *asked)
{
    struct bus_message *message;
    char now_ms[24];

    while ((message = bus_take(asked)) != NULL) {
        snprintf(now_ms, sizeof(now_ms), "%" PRId64, clock_us() / 1000 + FAR_MS);
        cr_assert_eq(bus_reply(access, message,
                               (struct bus_header[]){{BUS_CLOCK_HEADER, now_ms},
                                                     {BUS_DATABASE_CLOCK_HEADER, now_ms}},
                               2, STR("{}")),
                     ST_OK);
        bus_message_free(message);
    }
    (void)bus_flush(access);
}

Test(edge, forgets_the_clocks_of_others_when_nobody_answers)
{
    const int64_t until_us = clock_mono_us() + WITHIN_MS * INT64_C(1000);
    static struct edge edge;
    struct nats_server server;
    struct bus *access;
    struct bus_mailbox *asked;

    nats_server_prepare(&server, NULL);
    nats_server_start(&server);
    access = bus_connect(&(struct bus_options){.url = server.url, .name = "access"});
    asked = bus_serve(access, BUS_CLOCK_SUBJECT, "access");
    start_edge(&edge, server.url, ask_often);
    while (!edge_clock_is_skewed(&edge) && clock_mono_us() < until_us) {
        bus_wait(access, TURN_MS);
        answer(access, asked);
    }
    cr_assert(edge_clock_is_skewed(&edge));
    while (edge_clock_is_skewed(&edge) && clock_mono_us() < until_us)
        bus_wait(access, TURN_MS);
    cr_expect_not(edge_clock_is_skewed(&edge));
    edge_stop(&edge);
    edge_join(&edge);
    cr_expect_eq(metric_read(edge_metrics.clock_skew[CLOCK_OF_ACCESS]), 0);
    cr_expect_eq(metric_read(edge_metrics.clock_skew[CLOCK_OF_DATABASE]), 0);
    cr_expect_eq(edge.calls.access_skew_ms, 0);
    bus_free(access);
    nats_server_stop(&server);
}

Test(edge, calls_that_have_not_left_with_a_lost_link_reach_nobody)
{
    nats_server_prepare(&unsent.server, NULL);
    nats_server_start(&unsent.server);
    cr_assert_eq(sem_init(&unsent.ended, 0, 0), 0);
    start_edge(&unsent.edge, unsent.server.url, call_soon);
    while (sem_wait(&unsent.ended) != 0)
        ;
    cr_expect_eq(unsent.end, CALL_NOBODY);
    edge_stop(&unsent.edge);
    edge_join(&unsent.edge);
    sem_destroy(&unsent.ended);
}

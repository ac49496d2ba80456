#include "common/http/edge.h"

#include <criterion/criterion.h>

#include "common/base/clock.h"
#include "tests/support/nats_server.h"

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

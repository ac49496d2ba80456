/* Bundles when the server does not permit them, or no longer does, and unexpected messages. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "common/bus/bundle.h"
#include "common/bus/bus_internal.h"
#include "tests/unit/common/bus/bus_fixture.h"

#define USERS(publish)                                                                             \
    "authorization {users: [{user: a, password: b, permissions: {publish: " publish                \
    ", subscribe: [\">\"]}}, {user: s, password: b}]}"
#define ALLOWING USERS("[\">\"]")
#define DENYING  USERS("[\"v1.thing.get\", \"v1.other.get\", \"v1.probe\", \"_INBOX_a.>\"]")

static const struct bus_header outcome = {"Outcome", "ok"};
static struct replies replies;
static struct bus_mailbox *things, *others;

TestSuite(bus_bundle_faults, .fini = stop_server);

static struct bus *open_as(int i, const char *user)
{
    static char urls[3][128];
    char *const url = urls[i], inbox[32];

    (void)snprintf(url, sizeof(urls[i]), "nats://%s:b@127.0.0.1:%u", user, server.port);
    (void)snprintf(inbox, sizeof(inbox), "_INBOX_%s", user);
    clients[i] =
        bus_connect(&(struct bus_options){.url = url, .name = "test", .inbox_prefix = inbox});
    return clients[i];
}

/* Both clients are connected, and the server has the subscriptions of the second. */
static bool are_ready(void)
{
    struct bus_message *message;

    if (!bus_is_up(clients[0]) || !bus_is_up(clients[1]))
        return false;
    if (bus_publish(clients[0], "v1.thing.get", NULL, NULL, 0, STR("probe")) != ST_OK)
        return false;
    pump();
    message = bus_take(things);
    bus_message_free(message);
    return message != NULL;
}

static struct bus_message *next_of(struct bus_mailbox *mailbox)
{
    struct bus_message *message;

    while ((message = bus_take(mailbox)) != NULL && is(bus_message_body(message), "probe"))
        bus_message_free(message);
    return message;
}

static void begin(const char *users)
{
    nats_server_prepare(&server, users);
    nats_server_start(&server);
    (void)open_as(0, "a");
    things = bus_serve(open_as(1, "s"), "v1.thing.get", "thing");
    bus_serve_bundles(things);
    others = bus_serve(clients[1], "v1.other.get", "other");
    bus_open_inbox(clients[0], on_reply, is_always_awaited, &replies);
    cr_assert(EVENTUALLY(are_ready()));
}

static void ask_of(const char *subject, uint64_t handle, struct str body)
{
    cr_assert_eq(bus_request_bundled(clients[0], subject, handle, NULL, 0, body), ST_OK);
}

static void ask(uint64_t handle, struct str body)
{
    ask_of("v1.thing.get", handle, body);
}

/* Expects the next request to have this body and to come alone or in a bundle. */
static struct bus_message *take(struct bus_mailbox *mailbox, const char *body, bool in_bundle)
{
    struct bus_message *message = NULL;

    cr_assert(EVENTUALLY((message = next_of(mailbox)) != NULL), "%s", body);
    cr_assert(is(bus_message_body(message), body), "%s", body);
    cr_assert_eq(message->bundle != NULL, in_bundle, "%s", body);
    return message;
}

static void take_and_free(struct bus_mailbox *mailbox, const char *body, bool in_bundle)
{
    bus_message_free(take(mailbox, body, in_bundle));
}

static uint64_t denials(void)
{
    return bus_permission_violations(clients[0]);
}

Test(bus_bundle_faults, send_requests_one_by_one_if_the_server_permits_none)
{
    begin(DENYING);
    ask(1, STR("a"));
    take_and_free(things, "a", false);
    cr_assert_eq(denials(), 1);
    ask(2, STR("b"));
    take_and_free(things, "b", false);
    cr_assert_eq(denials(), 1, "not tried again");
    free_clients();
}

Test(bus_bundle_faults, heed_each_of_several_denials)
{
    begin(DENYING);
    ask(1, STR("a"));
    ask_of("v1.other.get", 2, STR("b"));
    take_and_free(things, "a", false);
    take_and_free(others, "b", false);
    free_clients();
}

/* Like an HTTP request in the same step of the loop, before the wake-up that reports the denial. */
Test(bus_bundle_faults, take_apart_what_waits_when_one_is_denied)
{
    begin(DENYING);
    ask(1, STR("a"));
    (void)bus_flush(clients[0]);
    for (int64_t until_us = clock_mono_us() + 30000000;
         denials() == 0 && clock_mono_us() < until_us;)
        bus_process(clients[0]);
    ask(2, STR("b"));
    (void)bus_changed(clients[0]);
    take_and_free(things, "b", false);
    take_and_free(things, "a", false);
    free_clients();
}

/* A route without a reply so far has one bundle in flight: further requests travel alone. */
Test(bus_bundle_faults, have_one_in_flight_until_the_first_reply)
{
    struct bus_message *first;

    begin(ALLOWING);
    ask(1, STR("first"));
    first = take(things, "first", true);
    ask(2, STR("second"));
    take_and_free(things, "second", false);
    cr_assert_eq(bus_reply(clients[1], first, &outcome, 1, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    ask(3, STR("third"));
    take_and_free(things, "third", true);
    ask(4, STR("fourth"));
    take_and_free(things, "fourth", true);
    bus_message_free(first);
    bus_message_free(replies.message[0]);
    free_clients();
}

/* The server has reloaded its users. */
static bool is_denied_by_now(void)
{
    static uint64_t handle = 3;

    if (denials() == 0 && bus_is_up(clients[0]) && bus_is_up(clients[1]))
        ask(handle++, STR("probe"));
    pump();
    bus_message_free(next_of(things));
    if (atomic_load(&replies.n) > 1)
        atomic_store(&replies.n, 1);
    return denials() > 0;
}

/* Another request is delivered alone, and the running one is not delivered again before it. The
   server may have disconnected both clients to reload its users. */
static bool comes_alone(void)
{
    static uint64_t handle = 1000;
    struct bus_message *message;
    bool is_alone = false;

    if (bus_is_up(clients[0]) && bus_is_up(clients[1]))
        ask(handle++, STR("last"));
    pump();
    while ((message = next_of(things)) != NULL) {
        cr_assert_not(is(bus_message_body(message), "running"));
        is_alone |= is(bus_message_body(message), "last") && message->bundle == NULL;
        bus_message_free(message);
    }
    for (int i = 1; i < atomic_load(&replies.n); i++)
        bus_message_free(replies.message[i]);
    atomic_store(&replies.n, 1);
    return is_alone;
}

/* The server's users change while a service runs a bundle that was permitted. */
Test(bus_bundle_faults, run_nothing_again_that_may_have_been_delivered)
{
    struct bus_message *proof, *running;

    begin(ALLOWING);
    ask(1, STR("proof"));
    proof = take(things, "proof", true);
    cr_assert_eq(bus_reply(clients[1], proof, &outcome, 1, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    ask(2, STR("running"));
    running = take(things, "running", true);
    nats_server_configure(&server, DENYING);
    cr_assert_eq(kill(server.pid, SIGHUP), 0);
    cr_assert(EVENTUALLY(is_denied_by_now()));
    cr_assert(EVENTUALLY(comes_alone()));
    bus_message_free(replies.message[0]);
    bus_message_free(running);
    bus_message_free(proof);
    free_clients();
}

Test(bus_bundle_faults, try_again_over_another_link)
{
    begin(DENYING);
    ask(1, STR("a"));
    take_and_free(things, "a", false);
    nats_server_kill(&server);
    cr_assert(EVENTUALLY(!bus_is_up(clients[0]) && !bus_is_up(clients[1])));
    nats_server_configure(&server, ALLOWING);
    nats_server_start(&server);
    cr_assert(EVENTUALLY(are_ready()));
    ask(2, STR("b"));
    take_and_free(things, "b", true);
    free_clients();
}

/* Data that a hanging server has not read is partly in its socket and partly in this process. */
Test(bus_bundle_faults, deliver_nothing_later_that_a_server_had_not_read_when_it_died)
{
    static char large[BUNDLE_BODY_MAX];
    struct bus_message *message;
    uint64_t handle = 2;

    begin(ALLOWING);
    ask(1, STR("proof"));
    message = take(things, "proof", true);
    cr_assert_eq(bus_reply(clients[1], message, &outcome, 1, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    bus_message_free(message);
    bus_message_free(replies.message[0]);
    nats_server_pause(&server);
    do
        ask(handle++, (struct str){large, sizeof(large)});
    while (bus_flush(clients[0]));
    nats_server_kill(&server);
    cr_assert(EVENTUALLY(!bus_is_up(clients[0]) && !bus_is_up(clients[1])));
    nats_server_start(&server);
    cr_assert(EVENTUALLY(are_ready()));
    ask(handle, STR("new"));
    take_and_free(things, "new", true);
    free_clients();
}

Test(bus_bundle_faults, continue_after_a_malformed_one)
{
    static char large[BUNDLE_BYTES_MAX + 1];

    begin(ALLOWING);
    cr_assert_eq(bus_request(clients[0], "v1.thing.get.bundle", 1, NULL, 0, STR("xx")), ST_OK);
    cr_assert_eq(bus_request(clients[0], "v1.thing.get.bundle", 2, NULL, 0,
                             (struct str){large, sizeof(large)}),
                 ST_OK);
    ask(3, STR("a"));
    cr_assert(EVENTUALLY(bus_waiting(things) >= 3));
    take_and_free(things, "a", true);
    free_clients();
}

Test(bus_bundle_faults, take_turns_with_single_messages)
{
    struct bus_message *message;
    int n_alone = 0;

    begin(ALLOWING);
    ask(1, STR("a"));
    message = take(things, "a", true);
    cr_assert_eq(bus_reply(clients[1], message, &outcome, 1, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    bus_message_free(message);
    bus_message_free(replies.message[0]);
    for (uint64_t i = 2; i < 12; i++) {
        ask(i, STR("b"));
        (void)bus_flush(clients[0]);
        cr_assert_eq(bus_request(clients[0], "v1.thing.get", 100 + i, NULL, 0, STR("c")), ST_OK);
    }
    cr_assert(EVENTUALLY(bus_waiting(things) >= 20));
    for (int i = 0; i < 10; i++) {
        message = bus_take(things);
        n_alone += message->bundle == NULL;
        bus_message_free(message);
    }
    cr_assert_eq(n_alone, 5);
    free_clients();
}

/* A compromised service may publish anything to the reply subjects of its own commands. */
Test(bus_bundle_faults, buffer_little_unrequested_data)
{
    static char body[8192];
    struct bus_message *message;
    char reply_to[128];
    int n = 0, bytes = 0;

    begin(ALLOWING);
    ask(1, STR("a"));
    message = take(things, "a", true);
    (void)snprintf(reply_to, sizeof(reply_to), "%s", bus_message_reply_to(message).p);
    cr_assert_eq(bus_reply(clients[1], message, &outcome, 1, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(
            bus_publish(clients[1], reply_to, NULL, NULL, 0, (struct str){body, sizeof(body)}),
            ST_OK);
    cr_assert_eq(bus_publish(clients[1], "v1.thing.get", NULL, NULL, 0, STR("behind")), ST_OK);
    take_and_free(things, "behind", false);
    pump();
    cr_assert_eq(natsSubscription_GetPending(clients[0]->routes->free->nats, &n, &bytes), NATS_OK);
    cr_assert_leq(n, 2 * BUNDLE_ITEMS_MAX);
    ask(2, STR("b")); /* gets the slot with the waiting messages */
    bus_message_free(message);
    message = take(things, "b", true);
    cr_assert_eq(bus_reply(clients[1], message, &outcome, 1, STR("B")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 2));
    cr_assert(is(bus_message_body(replies.message[1]), "B"));
    for (int i = 0; i < 2; i++)
        bus_message_free(replies.message[i]);
    bus_message_free(message);
    free_clients();
}

Test(bus_bundle_faults, send_more_replies_than_a_bundle_holds_in_two)
{
    struct bus_message *message;

    begin(ALLOWING);
    ask(1, STR("a"));
    message = take(things, "a", true);
    for (int i = 0; i < BUNDLE_ITEMS_MAX + 1; i++)
        cr_assert_eq(bus_reply(clients[1], message, &outcome, 1, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    bus_message_free(replies.message[0]);
    bus_message_free(message);
    free_clients();
}

/* Abandoned requests are not sent again, and their slot is closed. */
static uint64_t awaited;

static bool is_awaited_now(void *closure, uint64_t handle)
{
    return handle == awaited;
}

Test(bus_bundle_faults, forget_requests_that_were_given_up)
{
    struct bus_message *message;

    nats_server_prepare(&server, ALLOWING);
    nats_server_start(&server);
    (void)open_as(0, "a");
    things = bus_serve(open_as(1, "s"), "v1.thing.get", "thing");
    bus_serve_bundles(things);
    bus_open_inbox(clients[0], on_reply, is_awaited_now, &replies);
    cr_assert(EVENTUALLY(are_ready()));
    awaited = 1;
    ask(1, STR("a"));
    message = take(things, "a", true);
    cr_assert_eq(clients[0]->n_bundle_slots, 1);
    awaited = 0;
    cr_assert(EVENTUALLY(clients[0]->n_bundle_slots == 0));
    bus_message_free(message);
    free_clients();
}

/* -- handlers that send, for the sanitizers ------------------------------------------------------ */

static uint64_t n_handled, n_taken;

static bool is_awaited_mostly(void *closure, uint64_t handle)
{
    return handle % 3 != 0;
}

static void send_on(void *closure, uint64_t handle, enum bus_reply_kind kind,
                    struct bus_message *message)
{
    bus_message_free(message);
    n_handled++;
    for (uint64_t i = 0; i < 2 && clients[0]->n_bundle_slots < 100; i++) {
        const uint64_t next = n_handled * 2 + i;
        const char *subject = next % 2 == 0 ? "v1.thing.get" : "v1.nobody.get";

        if (next % 50 == 0)
            (void)!bus_request(clients[0], subject, next, NULL, 0, STR("alone"));
        else
            (void)!bus_request_bundled(clients[0], subject, next, &outcome, 1, STR("x"));
    }
}

static void *free_elsewhere(void *message)
{
    bus_message_free(message);
    return NULL;
}

static void handle(struct bus_message *message, struct bus_message **kept)
{
    pthread_t thread;

    if (n_taken++ % 7 != 0)
        (void)!bus_reply(clients[1], message, &outcome, 1, STR("r"));
    if (*kept == NULL) {
        *kept = message;
    } else if (n_taken % 11 == 0) {
        cr_assert_eq(pthread_create(&thread, NULL, free_elsewhere, message), 0);
        cr_assert_eq(pthread_join(thread, NULL), 0);
    } else {
        bus_message_free(message);
    }
}

Test(bus_bundle_faults, leak_nothing_when_handlers_send_and_the_server_restarts)
{
    struct bus_message *kept[64] = {NULL}, *message;
    size_t at = 0;

    nats_server_prepare(&server, ALLOWING);
    nats_server_start(&server);
    (void)open_as(0, "a");
    things = bus_serve(open_as(1, "s"), "v1.thing.get", "thing");
    bus_serve_bundles(things);
    bus_open_inbox(clients[0], send_on, is_awaited_mostly, &replies);
    for (uint64_t target = 1; target <= 3; target++) {
        cr_assert(EVENTUALLY(are_ready()));
        for (uint64_t i = 1; i < 200; i += 2)
            ask(i, STR("a"));
        for (uint64_t i = 0; i < 1000; i++) {
            pump();
            while ((message = bus_take(things)) != NULL)
                handle(message, &kept[at++ % ARRAY_SIZE(kept)]);
            ask(i * 2 + 1, STR("again"));
        }
        nats_server_kill(&server);
        nats_server_configure(&server, target == 1 ? DENYING : ALLOWING);
        nats_server_start(&server);
    }
    cr_assert_gt(n_handled, 100, "%d", (int)n_handled);
    free_clients(); /* the messages of a bundle may outlive their bus */
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        bus_message_free(kept[i]);
}

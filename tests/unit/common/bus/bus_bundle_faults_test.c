/* Bundles that the server denies or drops, unexpected messages, and requests that are given up. */
#include <pthread.h>
#include <stdio.h>

#include "common/bus/bundle.h"
#include "common/bus/bus_parts.h"
#include "tests/unit/common/bus/bus_fixture.h"

#define USERS(publish)                                                                             \
    "authorization {users: [{user: a, password: b, permissions: {publish: " publish                \
    ", subscribe: [\">\"]}}, {user: s, password: b}]}"
#define ALLOWING USERS("[\">\"]")
#define DENYING  USERS("[\"v1.thing.get\"]")

static const struct bus_header outcome = {"Outcome", "ok"};
static struct replies replies;
static struct bus_mailbox *things;

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

/* Both clients are connected, and the server has the subscriptions of the second, which it sent
   before the probe. */
static bool are_ready(void)
{
    struct bus_message *message;

    if (!bus_is_up(clients[0]) || !bus_is_up(clients[1]))
        return false;
    if (bus_publish(clients[1], "v1.thing.get", NULL, NULL, 0, STR("probe")) != ST_OK)
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

static void begin_with(const char *users, bus_reply_fn reply, bus_awaited_fn is_awaited)
{
    nats_server_prepare(&server, users);
    nats_server_start(&server);
    (void)open_as(0, "a");
    things = bus_serve(open_as(1, "s"), "v1.thing.get", "thing");
    bus_open_inbox(clients[0], reply, is_awaited, &replies);
    cr_assert(EVENTUALLY(are_ready()));
}

static void begin(const char *users)
{
    begin_with(users, on_reply, is_always_awaited);
}

static void ask(uint64_t handle, struct str body)
{
    cr_assert_eq(bus_request(clients[0], "v1.thing.get", handle, NULL, 0, body), ST_OK);
}

/* Expects the next request to have this body. */
static struct bus_message *take(struct bus_mailbox *mailbox, const char *body)
{
    struct bus_message *message = NULL;

    cr_assert(EVENTUALLY((message = next_of(mailbox)) != NULL), "%s", body);
    cr_assert(is(bus_message_body(message), body), "%s", body);
    return message;
}

static void take_and_free(struct bus_mailbox *mailbox, const char *body)
{
    bus_message_free(take(mailbox, body));
}

static uint64_t awaited;

static bool is_awaited_now(void *closure, uint64_t handle)
{
    return handle == awaited;
}

/* No reply comes, and its sender waits until its deadline. */
Test(bus_bundle_faults, are_never_answered_if_the_server_denies_them)
{
    struct bus_message *behind;

    begin_with(DENYING, on_reply, is_awaited_now);
    awaited = 1;
    cr_assert_eq(bus_request(clients[0], "v1.denied.get", 1, NULL, 0, STR("a")), ST_OK);
    cr_assert(EVENTUALLY(bus_permission_violations(clients[0]) == 1));
    cr_assert_eq(bus_request(clients[0], "v1.thing.get", 2, NULL, 0, STR("behind")), ST_OK);
    behind = take(things, "behind");
    cr_assert_eq(bus_reply(clients[1], behind, &outcome, 1, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.handle[0], 2);
    cr_assert_eq(clients[0]->requests.n_open, 1);
    awaited = 0;
    cr_assert(EVENTUALLY(clients[0]->requests.n_open == 0));
    cr_assert_eq(atomic_load(&replies.n), 1);
    bus_message_free(replies.message[0]);
    bus_message_free(behind);
    free_clients();
}

/* Data that a hanging server has not read is partly in its socket and partly in this process. */
Test(bus_bundle_faults, deliver_nothing_later_that_a_server_had_not_read_when_it_died)
{
    static char large[BUNDLE_BODY_MAX];
    uint64_t handle = 1;

    begin(ALLOWING);
    nats_server_pause(&server);
    do
        ask(handle++, (struct str){large, sizeof(large)});
    while (bus_flush(clients[0]));
    nats_server_kill(&server);
    cr_assert(EVENTUALLY(!bus_is_up(clients[0]) && !bus_is_up(clients[1])));
    nats_server_start(&server);
    cr_assert(EVENTUALLY(are_ready()));
    ask(handle, STR("new"));
    take_and_free(things, "new");
    free_clients();
}

#define REPLY_TO "some.v1.thing.get.1"

Test(bus_bundle_faults, continue_after_one_that_is_malformed_or_too_large)
{
    static char large[BUNDLE_BODY_MAX];
    struct bundle_writer bundle = {.p = NULL};

    begin(ALLOWING);
    cr_assert_eq(bus_publish(clients[0], "v1.thing.get", REPLY_TO, NULL, 0, STR("xx")), ST_OK);
    for (uint64_t i = 0; i <= BUNDLE_BYTES_MAX / BUNDLE_BODY_MAX; i++)
        bundle_add(&bundle, i, NULL, 0, (struct str){large, sizeof(large)});
    cr_assert_eq(bus_publish(clients[0], "v1.thing.get", REPLY_TO, NULL, 0, bundle_bytes(&bundle)),
                 ST_OK);
    bundle_release(&bundle);
    ask(3, STR("a"));
    cr_assert(EVENTUALLY(bus_waiting(things) >= 3));
    take_and_free(things, "a");
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
    message = take(things, "a");
    (void)snprintf(reply_to, sizeof(reply_to), "%s", bus_message_reply_to(message).p);
    cr_assert_eq(bus_reply(clients[1], message, &outcome, 1, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(
            bus_publish(clients[1], reply_to, NULL, NULL, 0, (struct str){body, sizeof(body)}),
            ST_OK);
    cr_assert_eq(bus_publish(clients[1], "v1.thing.get", NULL, NULL, 0, STR("behind")), ST_OK);
    take_and_free(things, "behind");
    pump();
    cr_assert_eq(natsSubscription_GetPending(clients[0]->requests.routes->free->nats, &n, &bytes),
                 NATS_OK);
    cr_assert_leq(n, 2 * BUNDLE_ITEMS_MAX);
    ask(2, STR("b")); /* gets the slot with the waiting messages */
    bus_message_free(message);
    message = take(things, "b");
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
    message = take(things, "a");
    for (int i = 0; i < BUNDLE_ITEMS_MAX + 1; i++)
        cr_assert_eq(bus_reply(clients[1], message, &outcome, 1, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    bus_message_free(replies.message[0]);
    bus_message_free(message);
    free_clients();
}

/* Their slot is closed. */
Test(bus_bundle_faults, forget_requests_that_were_given_up)
{
    struct bus_message *message;

    begin_with(ALLOWING, on_reply, is_awaited_now);
    awaited = 1;
    ask(1, STR("a"));
    message = take(things, "a");
    cr_assert_eq(clients[0]->requests.n_open, 1);
    awaited = 0;
    cr_assert(EVENTUALLY(clients[0]->requests.n_open == 0));
    bus_message_free(message);
    free_clients();
}

/* -- handlers that send, for the sanitizers ------------------------------------------------------ */

static uint64_t n_handled, n_taken;
static char large[BUNDLE_BODY_MAX + 1]; /* travels alone */

static bool is_awaited_mostly(void *closure, uint64_t handle)
{
    return handle % 3 != 0;
}

static void send_on(void *closure, uint64_t handle, enum bus_reply_kind kind,
                    struct bus_message *message)
{
    bus_message_free(message);
    n_handled++;
    for (uint64_t i = 0; i < 2 && clients[0]->requests.n_open < 100; i++) {
        const uint64_t next = n_handled * 2 + i;
        const char *subject = next % 2 == 0 ? "v1.thing.get" : "v1.nobody.get";
        const struct str body = {large, next % 50 == 0 ? sizeof(large) : 1};

        (void)!bus_request(clients[0], subject, next, &outcome, 1, body);
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

    begin_with(ALLOWING, send_on, is_awaited_mostly);
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 1; i < 200; i += 2)
            ask(i, STR("a"));
        for (uint64_t i = 0; i < 1000; i++) {
            pump();
            while ((message = bus_take(things)) != NULL)
                handle(message, &kept[at++ % ARRAY_SIZE(kept)]);
            ask(i * 2 + 1, STR("again"));
        }
        nats_server_kill(&server);
        nats_server_start(&server);
        cr_assert(EVENTUALLY(are_ready()));
    }
    cr_assert_gt(n_handled, 100, "%d", (int)n_handled);
    free_clients(); /* the messages of a bundle may outlive their bus */
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        bus_message_free(kept[i]);
}

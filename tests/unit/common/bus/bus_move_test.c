/* The bus when its server announces that it will stop, with another server and without one. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/http_client.h"
#include "tests/support/port.h"
#include "tests/unit/common/bus/bus_fixture.h"

enum { NODES = 2, MESSAGES = 1000 };

static struct nats_server nodes[NODES];
static int monitors[NODES]; /* their monitoring ports */
static char both_urls[160];
static struct bus_settings tls; /* not used in most tests */
static atomic_int downs;

static void count_downs(void *closure, bool up)
{
    if (!up)
        atomic_fetch_add(&downs, 1);
}

static void prepare_nodes(void)
{
    const int routes[NODES] = {port_free(), port_free()};
    char config[1024], secure[256] = "";

    if (tls.ca_file != NULL)
        (void)snprintf(secure, sizeof(secure),
                       "tls {cert_file: \"%s/good.pem\", key_file: \"%s/server.key\"}\n", folder,
                       folder);

    for (int i = 0; i < NODES; i++) {
        monitors[i] = port_free();
        (void)snprintf(config, sizeof(config),
                       "server_name: node-%d\nlame_duck_duration: 60s\n"
                       "lame_duck_grace_period: 30s\nhttp: \"127.0.0.1:%d\"\n%s"
                       "cluster { name: tests, listen: \"127.0.0.1:%d\","
                       " routes: [\"nats://127.0.0.1:%d\"] }\n",
                       i, monitors[i], secure, routes[i], routes[!i]);
        nats_server_prepare(&nodes[i], config);
    }
    (void)snprintf(both_urls, sizeof(both_urls), "%s,%s", nodes[0].url, nodes[1].url);
}

static void stop_nodes(void)
{
    for (int i = 0; i < NODES; i++)
        nats_server_stop(&nodes[i]);
}

TestSuite(bus_move, .init = prepare_nodes, .fini = stop_nodes);

static struct bus *open_at(int i, const char *url)
{
    clients[i] = bus_connect(&(struct bus_options){
        .url = url, .name = "test", .settings = &tls, .on_link = count_downs});
    return clients[i];
}

/* Whether the mailbox of one end receives what another end publishes. */
static bool is_heard(struct bus *from, const char *subject, struct bus_mailbox *mailbox)
{
    struct bus_message *message;

    cr_assert_eq(bus_publish(from, subject, NULL, NULL, 0, STR("hello")), ST_OK);
    pump();
    message = bus_take(mailbox);
    bus_message_free(message);
    return message != NULL;
}

static struct bus_mailbox *check; /* of the third end */

/* Two ends at the first node, the second one with the mailbox, and one at the second node. */
static struct bus_mailbox *open_ends(void)
{
    struct bus_mailbox *mailbox;
    struct bus_message *message;

    nats_server_start(&nodes[0]);
    (void)open_at(0, both_urls);
    mailbox = bus_serve(open_at(1, both_urls), "v1.thing.*", "thing");
    cr_assert(EVENTUALLY(bus_is_up(clients[0]) && bus_is_up(clients[1])));
    nats_server_start(&nodes[1]);
    check = bus_serve(open_at(2, nodes[1].url), "v1.check.x", NULL);
    cr_assert(EVENTUALLY(bus_is_up(clients[2])));
    cr_assert(EVENTUALLY(is_heard(clients[0], "v1.check.x", check)));
    cr_assert(EVENTUALLY(is_heard(clients[2], "v1.thing.hello", mailbox)));
    for (int i = 0; i < 20; i++) {
        pump();
        while ((message = bus_take(mailbox)) != NULL)
            bus_message_free(message);
    }
    return mailbox;
}

static void tell_to_leave(void)
{
    cr_assert_eq(kill(nodes[0].pid, SIGUSR2), 0);
}

/* The number of a node's clients. */
static int n_connected(int node)
{
    char base[64];
    const struct client_response *response;

    (void)snprintf(base, sizeof(base), "http://127.0.0.1:%d", monitors[node]);
    response = http_send(&(struct client_request){
        .method = "GET", .base = base, .path = "/varz", .skip_checks = true});
    return (int)json_integer_value(json_object_get(response->json, "connections"));
}

static struct bus_message *take_one(struct bus_mailbox *mailbox)
{
    struct bus_message *message = NULL;

    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    return message;
}

static void answer(struct bus *bus, struct bus_message *request, const char *text)
{
    cr_assert_eq(bus_reply(bus, request, NULL, 0, str_of(text)), ST_OK);
    bus_message_free(request);
}

static void expect_reply(const struct replies *replies, int n, uint64_t handle, const char *text)
{
    cr_assert(EVENTUALLY(atomic_load(&replies->n) == n));
    cr_assert_eq(replies->kind[n - 1], BUS_REPLY);
    cr_assert_eq(replies->handle[n - 1], handle);
    cr_assert(is(bus_message_body(replies->message[n - 1]), text));
    bus_message_free(replies->message[n - 1]);
}

static enum status ask(uint64_t handle)
{
    return bus_request(clients[0], "v1.thing.get", handle, NULL, 0, STR("question"));
}

static void move_with_a_request(void)
{
    struct bus_mailbox *mailbox = open_ends();
    struct replies replies = {0};
    struct bus_message *held;

    bus_open_inbox(clients[0], on_reply, is_always_awaited, &replies);
    cr_assert_eq(ask(1), ST_OK);
    held = take_one(mailbox);
    const int before[] = {bus_socket(clients[0]), bus_socket(clients[1])};

    tell_to_leave();
    cr_assert(EVENTUALLY(bus_socket(clients[0]) != before[0]));
    cr_assert(EVENTUALLY(bus_socket(clients[1]) != before[1]));
    cr_assert_eq(ask(2), ST_OK);
    answer(clients[1], take_one(mailbox), "second");
    expect_reply(&replies, 1, 2, "second");
    /* The end that awaits a reply stays for it; the other end leaves. */
    cr_assert(EVENTUALLY(n_connected(0) == 1));
    answer(clients[1], held, "first");
    expect_reply(&replies, 2, 1, "first");
    cr_assert(EVENTUALLY(n_connected(0) == 0));

    nats_server_kill(&nodes[0]);
    cr_assert_eq(ask(3), ST_OK);
    answer(clients[1], take_one(mailbox), "third");
    expect_reply(&replies, 3, 3, "third");
    cr_assert_eq(atomic_load(&downs), 0);
    free_clients();
}

Test(bus_move, answers_requests_from_before_and_after)
{
    move_with_a_request();
}

Test(bus_move, answers_requests_over_tls)
{
    char command[128];

    open_folder();
    (void)snprintf(command, sizeof(command), "tests/support/make-certificates %s", folder);
    cr_assert_eq(system(command), 0);
    tls.ca_file = file("authority.pem");
    stop_nodes();
    prepare_nodes();
    move_with_a_request();
    remove_folder();
}

/* Publishes a number from the third end. */
static void publish_number(int number)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", number);
    cr_assert_eq(bus_publish(clients[2], "v1.thing.do", NULL, NULL, 0, str_of(text)), ST_OK);
    cr_assert_eq(bus_publish(clients[2], "v1.notice.x", NULL, NULL, 0, STR(BODY)), ST_OK);
}

static int count_taken(struct bus_mailbox *mailbox, int times[MESSAGES])
{
    struct bus_message *message;
    int n = 0;

    for (; (message = bus_take(mailbox)) != NULL; n++) {
        char text[16];

        (void)snprintf(text, sizeof(text), "%.*s", STR_ARG(bus_message_body(message)));
        times[atoi(text)]++;
        bus_message_free(message);
    }
    return n;
}

Test(bus_move, loses_and_duplicates_no_message_during_the_move)
{
    struct bus_mailbox *mailbox = open_ends();
    atomic_int notices = 0;
    int times[MESSAGES] = {0}, n_taken = 0, n_sent = 0;

    bus_listen(clients[1], "v1.notice.x", count_notice, &notices);
    while (atomic_load(&notices) == 0) {
        cr_assert_eq(bus_publish(clients[2], "v1.notice.x", NULL, NULL, 0, STR(BODY)), ST_OK);
        pump();
    }
    atomic_store(&notices, 0);
    tell_to_leave();
    while (n_sent < MESSAGES || n_connected(0) > 0) {
        if (n_sent < MESSAGES)
            publish_number(n_sent++);
        pump();
        n_taken += count_taken(mailbox, times);
    }
    cr_assert(EVENTUALLY((n_taken += count_taken(mailbox, times)) >= MESSAGES));
    for (int i = 0; i < MESSAGES; i++)
        cr_assert_eq(times[i], 1, "message %d came %d times", i, times[i]);
    cr_assert(EVENTUALLY(atomic_load(&notices) >= MESSAGES));
    cr_assert_eq(atomic_load(&downs), 0);
    free_clients();
}

Test(bus_move, stays_at_the_only_server_until_that_is_gone)
{
    struct replies replies = {0};
    struct bus_mailbox *mailbox;
    int before;

    nats_server_start(&nodes[0]);
    mailbox = bus_serve(open_at(0, both_urls), "v1.thing.*", "thing");
    bus_open_inbox(clients[0], on_reply, is_always_awaited, &replies);
    cr_assert(EVENTUALLY(bus_is_up(clients[0])));
    before = bus_socket(clients[0]);
    tell_to_leave();
    cr_assert_not(WITHIN(500, bus_socket(clients[0]) != before || atomic_load(&downs) > 0));
    cr_assert_eq(ask(1), ST_OK);
    answer(clients[0], take_one(mailbox), "still");
    expect_reply(&replies, 1, 1, "still");

    nats_server_kill(&nodes[0]);
    cr_assert(EVENTUALLY(!bus_is_up(clients[0])));
    nats_server_start(&nodes[0]);
    cr_assert(EVENTUALLY(bus_is_up(clients[0])));
    /* One link remains. */
    cr_assert_not(WITHIN(500, false));
    cr_assert(EVENTUALLY(n_connected(0) == 1));
    cr_assert_eq(ask(2), ST_OK);
    answer(clients[0], take_one(mailbox), "again");
    expect_reply(&replies, 2, 2, "again");
    cr_assert_eq(bus_waiting(mailbox), 0);
    cr_assert_eq(atomic_load(&downs), 1);
    free_clients();
}

enum { LARGE = 8, LARGE_BYTES = 900 * 1000 }; /* more than a socket takes at once */

/* The announcement has arrived here but has not been read. */
static void await_announcement(struct bus *bus)
{
    struct pollfd fd = {.fd = bus_socket(bus), .events = POLLIN};

    cr_assert_eq(poll(&fd, 1, 30000), 1);
}

Test(bus_move, sends_all_that_waits_for_the_left_link)
{
    char *const text = calloc(1, LARGE_BYTES);
    struct bus_message *message;
    int before;

    (void)open_ends();
    before = bus_socket(clients[0]);
    tell_to_leave();
    await_announcement(clients[0]);
    nats_server_pause(&nodes[0]);
    for (int i = 0; i < LARGE; i++)
        cr_assert_eq(
            bus_publish(clients[0], "v1.check.x", NULL, NULL, 0, (struct str){text, LARGE_BYTES}),
            ST_OK);
    cr_assert(EVENTUALLY(bus_socket(clients[0]) != before));
    nats_server_resume(&nodes[0]);
    for (int i = 0; i < LARGE; i++) {
        message = take_one(check);
        cr_assert_eq(bus_message_body(message).n, LARGE_BYTES);
        bus_message_free(message);
    }
    cr_assert(EVENTUALLY(n_connected(0) == 0));
    free(text);
    free_clients();
}

Test(bus_move, can_lose_the_left_link)
{
    (void)open_ends();
    const int before[] = {bus_socket(clients[0]), bus_socket(clients[1])};

    tell_to_leave();
    cr_assert(EVENTUALLY(bus_socket(clients[0]) != before[0]));
    cr_assert(EVENTUALLY(bus_socket(clients[1]) != before[1]));
    nats_server_kill(&nodes[0]);
    cr_assert_not(WITHIN(500, n_connected(1) != 3));
    nats_server_start(&nodes[0]);
    cr_assert_eq(kill(nodes[1].pid, SIGUSR2), 0);
    cr_assert(EVENTUALLY(n_connected(0) == 2));
    cr_assert_eq(atomic_load(&downs), 0);
    free_clients();
}

Test(bus_move, can_be_freed_at_any_moment)
{
    (void)open_ends();
    const int before = bus_socket(clients[0]);

    tell_to_leave();
    cr_assert(EVENTUALLY(bus_socket(clients[0]) != before));
    free_clients(); /* also frees the links that were left */
    (void)open_at(0, nodes[1].url);
    cr_assert(EVENTUALLY(bus_is_up(clients[0])));
    cr_assert_eq(kill(nodes[1].pid, SIGUSR2), 0);
    cr_assert_not(WITHIN(300, !bus_is_up(clients[0])));
    free_clients(); /* while it looks for another server */
}

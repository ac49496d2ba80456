/* Requests over the bus and their replies, against a real nats-server. */
#include <pthread.h>

#include "tests/unit/common/bus/bus_fixture.h"

TestSuite(bus_requests, .init = start_server, .fini = stop_server);

Test(bus_requests, carries_a_request_and_its_reply_with_their_headers)
{
    struct bus *client = open_end(0), *service = open_end(1);
    struct bus_mailbox *mailbox = bus_serve(service, "v1.thing.*", "thing");
    struct replies replies = {0};
    bus_open_inbox(client, on_reply, is_always_awaited, &replies);
    cr_assert(EVENTUALLY(bus_is_up(client) && bus_is_up(service)));
    pump(); /* sends the subscription */

    struct bus_header headers[] = {{"Request-Id", "r1"}, {"Deadline", "17"}};
    struct bus_message *request = NULL;
    while (request == NULL) { /* the server reads the two connections in any order */
        cr_assert_eq(
            bus_request(client, "v1.thing.get", 0xfeedULL << 48 | 7, headers, 2, STR(BODY)), ST_OK);
        cr_assert(EVENTUALLY((request = bus_take(mailbox)) != NULL || atomic_load(&replies.n) > 0));
        if (request == NULL)
            atomic_store(&replies.n, 0);
    }
    cr_assert(is(bus_message_subject(request), "v1.thing.get"));
    cr_assert(is(bus_message_body(request), BODY));
    cr_assert(is(bus_message_header(request, "Request-Id"), "r1"));
    cr_assert(is(bus_message_header(request, "Deadline"), "17"));
    cr_assert_null(bus_message_header(request, "Scope").p);

    struct bus_header outcome = {"Outcome", "ok"};
    cr_assert_eq(bus_reply(service, request, &outcome, 1, STR("done")), ST_OK);
    bus_message_free(request);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.kind[0], BUS_REPLY);
    cr_assert_eq(replies.handle[0], 0xfeedULL << 48 | 7);
    cr_assert(is(bus_message_body(replies.message[0]), "done"));
    cr_assert(is(bus_message_header(replies.message[0], "Outcome"), "ok"));
    cr_assert_null(bus_message_reply_to(replies.message[0]).p);
    bus_message_free(replies.message[0]);
    free_clients();
}

Test(bus_requests, names_the_request_that_has_no_responders)
{
    struct bus *both = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    struct replies replies = {0};
    bus_open_inbox(both, on_reply, is_always_awaited, &replies);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(bus_request(both, "v1.thing.get", 1, NULL, 0, STR("")), ST_OK);
    cr_assert_eq(bus_request(both, "v1.nobody.get", 2, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1 && bus_waiting(mailbox) == 1));
    cr_assert_eq(replies.handle[0], 2);
    cr_assert_eq(replies.kind[0], BUS_NO_RESPONDERS);
    cr_assert_null(replies.message[0]);
    bus_message_free(bus_take(mailbox));
    free_clients();
}

Test(bus_requests, brings_a_heartbeat_back_to_its_inbox)
{
    struct bus *bus = open_end(0);
    struct replies replies = {0};
    bus_open_inbox(bus, on_reply, is_always_awaited, &replies);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    cr_assert_eq(bus_send_heartbeat(bus, 11), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.handle[0], 11);
    cr_assert_eq(replies.kind[0], BUS_REPLY);
    bus_message_free(replies.message[0]);
    free_clients();
}

/* The one awaited handle, and how often is_awaited() was called for each. */
struct table {
    struct replies replies; /* first: for on_reply() */
    uint64_t awaited;
    int n_asked[3];
};

static bool is_awaited(void *closure, uint64_t handle)
{
    struct table *table = closure;

    table->n_asked[handle]++;
    return handle == table->awaited;
}

Test(bus_requests, listens_for_a_reply_as_long_as_its_owner_awaits_it)
{
    struct bus *bus = open_end(0), *other = open_end(1);
    struct bus_mailbox *mailbox = bus_serve(bus, "v1.thing.*", "thing");
    struct table table = {.awaited = 2};
    struct replies others = {0};
    struct bus_message *request[3] = {NULL};
    bus_open_inbox(bus, on_reply, is_awaited, &table);
    bus_open_inbox(other, on_reply, is_always_awaited, &others);
    cr_assert(EVENTUALLY(bus_is_up(bus) && bus_is_up(other)));
    for (uint64_t i = 1; i <= 2; i++) {
        cr_assert_eq(bus_request(bus, "v1.thing.get", i, NULL, 0, STR("")), ST_OK);
        cr_assert(EVENTUALLY((request[i] = bus_take(mailbox)) != NULL));
    }
    cr_assert(EVENTUALLY(table.n_asked[1] > 0 && table.n_asked[2] > 1));
    pump();
    /* A message sent after the slot was closed has arrived: the server has no subscriber for a
       reply any more. */
    struct bus_message *after = NULL;
    cr_assert_eq(bus_publish(bus, "v1.thing.after", NULL, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY((after = bus_take(mailbox)) != NULL));
    bus_message_free(after);
    cr_assert_eq(bus_request(other, bus_message_reply_to(request[1]).p, 5, NULL, 0, STR("")),
                 ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&others.n) == 1));
    cr_assert_eq(others.kind[0], BUS_NO_RESPONDERS);
    cr_assert_eq(table.n_asked[1], 1, "not asked for again");
    cr_assert_eq(atomic_load(&table.replies.n), 0);
    cr_assert_eq(bus_reply(other, request[2], NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&table.replies.n) == 1));
    cr_assert_eq(table.replies.handle[0], 2);
    for (int i = 1; i <= 2; i++)
        bus_message_free(request[i]);
    bus_message_free(table.replies.message[0]);
    free_clients();
}

Test(bus_requests, distinguishes_an_empty_reply_from_no_responders)
{
    struct bus *both = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    struct bus_message *request = NULL;
    struct replies replies = {0};
    bus_open_inbox(both, on_reply, is_always_awaited, &replies);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(bus_request(both, "v1.thing.get", 1, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY((request = bus_take(mailbox)) != NULL));
    cr_assert_eq(bus_reply(both, request, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.kind[0], BUS_REPLY);
    bus_message_free(replies.message[0]);
    bus_message_free(request);
    free_clients();
}

/* -- calls that block ------------------------------------------------------------------------ */

struct echo {
    pthread_t thread;
    atomic_bool stop;
    atomic_bool ready;
};

static void *echo(void *arg)
{
    struct echo *e = arg;
    struct bus *bus = connect_to(server.url);
    struct bus_mailbox *mailbox = bus_serve(bus, "v1.echo.*", "echo");
    while (!atomic_load(&e->stop)) {
        bus_wait(bus, 5);
        atomic_store(&e->ready, bus_is_up(bus));
        for (struct bus_message *m; (m = bus_take(mailbox)) != NULL; bus_message_free(m)) {
            if (!is(bus_message_subject(m), "v1.echo.silence"))
                cr_assert_eq(bus_reply(bus, m, NULL, 0, bus_message_body(m)), ST_OK);
        }
    }
    bus_free(bus);
    return NULL;
}

Test(bus_requests, calls_and_distinguishes_replies_no_responders_and_silence)
{
    struct echo e = {0};
    struct bus_message *reply = NULL;
    struct bus *client = connect_to(server.url);
    cr_assert_eq(bus_call(client, "v1.echo.say", NULL, 0, STR(BODY), 2000, &reply), ST_UNAVAILABLE);
    cr_assert_eq(pthread_create(&e.thread, NULL, echo, &e), 0);
    enum status st = ST_UNAVAILABLE;
    for (int64_t until_us = clock_mono_us() + 30 * INT64_C(1000000);
         st == ST_UNAVAILABLE && clock_mono_us() < until_us;)
        st = bus_call(client, "v1.echo.say", NULL, 0, STR(BODY), 2000, &reply);
    cr_assert_eq(st, ST_OK);
    cr_assert(is(bus_message_body(reply), BODY));
    bus_message_free(reply);
    cr_assert_eq(bus_call(client, "v1.echo.silence", NULL, 0, STR(BODY), 50, &reply), ST_UNCERTAIN);
    atomic_store(&e.stop, true);
    pthread_join(e.thread, NULL);
    bus_free(client);
}

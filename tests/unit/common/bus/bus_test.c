/* Publishing on the bus, queue groups and notices, against a real nats-server. */
#include <pthread.h>
#include <sched.h>

#include "common/base/watchdog.h"
#include "tests/unit/common/bus/bus_fixture.h"

TestSuite(bus, .init = start_server, .fini = stop_server);

Test(bus, leaves_out_blank_headers_without_harm_to_the_others)
{
    struct bus *both = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    struct bus_message *message = NULL;
    struct bus_header headers[] = {
        {"Query", ""}, {"Scope", " "}, {"Request-Id", "a\r\nScope: full"}};
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(bus_publish(both, "v1.thing.get", NULL, headers, 3, STR("")), ST_OK);
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    cr_assert_null(bus_message_header(message, "Query").p);
    cr_assert_null(bus_message_header(message, "Scope").p);
    cr_assert(is(bus_message_header(message, "Request-Id"), "a  Scope: full"));
    bus_message_free(message);
    free_clients();
}

/* A released message is freed a little later: until then the test can read it. */
Test(bus, overwrites_freed_memory_on_request)
{
    static const char secret[] = "correct horse battery", zeros[sizeof(secret)];
    struct bus *both = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    struct bus_message *message = NULL;
    struct str body;

    bus_wipe_what_is_freed();
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(bus_publish(both, "v1.thing.get", NULL, NULL, 0, STR(secret)), ST_OK);
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    body = bus_message_body(message);
    cr_assert(is(body, secret));
    bus_message_free(message);
    cr_assert_eq(memcmp(body.p, zeros, body.n), 0);
    free_clients();
}

static int take_all(struct bus_mailbox *mailbox)
{
    int n = 0;
    for (struct bus_message *m; (m = bus_take(mailbox)) != NULL; n++)
        bus_message_free(m);
    return n;
}

/* Counts messages with a body. */
static int take_filled(struct bus_mailbox *mailbox)
{
    int n = 0;
    for (struct bus_message *m; (m = bus_take(mailbox)) != NULL; bus_message_free(m))
        n += bus_message_body(m).n > 0;
    return n;
}

/* Clients and replicas of two releases, which may subscribe to different subjects. */
static void expect_shared(const char *subject, const char *other)
{
    struct bus *client = open_end(0);
    struct bus_mailbox *a = bus_serve(open_end(1), subject, "thing");
    struct bus_mailbox *b = bus_serve(open_end(2), other, "thing");
    int first = 0, second = 0;
    cr_assert(EVENTUALLY(bus_is_up(client) && bus_is_up(clients[1]) && bus_is_up(clients[2])));
    /* The server has both subscriptions once both have received a message. */
    while (first == 0 || second == 0) {
        cr_assert_eq(bus_publish(client, "v1.thing.do", NULL, NULL, 0, STR("")), ST_OK);
        pump();
        first += take_all(a);
        second += take_all(b);
    }
    first = second = 0;
    for (int i = 0; i < 200; i++)
        cr_assert_eq(bus_publish(client, "v1.thing.do", NULL, NULL, 0, STR(BODY)), ST_OK);
    cr_assert(
        EVENTUALLY((first += take_filled(a), second += take_filled(b), first + second >= 200)));
    cr_assert_eq(first + second, 200);
    cr_assert_gt(first, 0);
    cr_assert_gt(second, 0);
    free_clients();
}

Test(bus, shares_the_work_of_a_group_and_gives_each_message_once)
{
    expect_shared("v1.thing.*", "v1.thing.*");
}

Test(bus, shares_it_even_if_one_of_the_group_takes_only_that_subject)
{
    expect_shared("v1.thing.*", "v1.thing.do");
}

Test(bus, gives_a_notice_to_every_listener)
{
    atomic_int heard[2] = {0, 0};
    struct bus *client = open_end(0);
    bus_listen(open_end(1), "v1.notice.x", count_notice, &heard[0]);
    bus_listen(open_end(2), "v1.notice.x", count_notice, &heard[1]);
    cr_assert(EVENTUALLY(bus_is_up(client)));
    cr_assert(EVENTUALLY((bus_publish(client, "v1.notice.x", NULL, NULL, 0, STR(BODY)) == ST_OK &&
                          atomic_load(&heard[0]) > 0 && atomic_load(&heard[1]) > 0)));
    free_clients();
}

Test(bus, refuses_what_is_larger_than_the_server_takes)
{
    static char large[BUS_PAYLOAD_MIN + 1];
    struct bus *both = open_end(0);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    struct str body = {large, sizeof(large)};
    cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, body), ST_INTERNAL);
    cr_assert(bus_is_up(both));
    free_clients();
}

Test(bus, delivers_messages_published_right_before_it_was_freed)
{
    struct bus *client = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(open_end(1), "v1.thing.*", "thing");
    cr_assert(EVENTUALLY(bus_is_up(client) && bus_is_up(clients[1])));
    while (take_all(mailbox) == 0) {
        cr_assert_eq(bus_publish(client, "v1.thing.warm", NULL, NULL, 0, STR("")), ST_OK);
        pump();
    }
    for (int i = 0; i < 5000; i++)
        cr_assert_eq(bus_publish(client, "v1.thing.do", NULL, NULL, 0, STR(BODY)), ST_OK);
    bus_free(client);
    clients[0] = NULL;
    int n = 0;
    cr_assert(EVENTUALLY((n += take_filled(mailbox)) == 5000), "%d", n);
    free_clients();
}

Test(bus, keeps_waiting_messages_when_it_stops_serving)
{
    struct bus *client = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(open_end(1), "v1.thing.*", "thing");
    struct replies replies = {0};
    bus_open_inbox(client, on_reply, is_always_awaited, &replies);
    cr_assert(EVENTUALLY(bus_is_up(client) && bus_is_up(clients[1])));
    while (bus_waiting(mailbox) == 0) {
        cr_assert_eq(bus_publish(client, "v1.thing.do", NULL, NULL, 0, STR(BODY)), ST_OK);
        pump();
    }
    bus_stop_serving(mailbox);
    cr_assert_not(bus_is_drained(mailbox));
    int n = 0;
    cr_assert(EVENTUALLY((n += take_all(mailbox), bus_is_drained(mailbox))));
    cr_assert_gt(n, 0);
    cr_assert_eq(bus_request(client, "v1.thing.do", 9, NULL, 0, STR(BODY)), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.kind[0], BUS_NO_RESPONDERS);
    free_clients();
}

Test(bus, serves_again_once_it_is_drained)
{
    struct bus *client = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(open_end(1), "v1.thing.*", "thing");
    cr_assert(EVENTUALLY(bus_is_up(client) && bus_is_up(clients[1])));
    for (int i = 0; i < 20; i++) {
        int n = 0;
        cr_assert(EVENTUALLY((bus_publish(client, "v1.thing.do", NULL, NULL, 0, STR("")) == ST_OK &&
                              bus_waiting(mailbox) > 0)));
        for (int j = 0; j < 10; j++)
            cr_assert_eq(bus_publish(client, "v1.thing.do", NULL, NULL, 0, STR(BODY)), ST_OK);
        cr_assert(EVENTUALLY((n += take_filled(mailbox)) >= 10));
        bus_stop_serving(mailbox);
        bus_stop_serving(mailbox);
        cr_assert(EVENTUALLY((n += take_filled(mailbox), bus_is_drained(mailbox))));
        cr_assert_eq(n, 10);
        bus_serve_again(mailbox);
    }
    free_clients();
}

static void *wake(void *bus)
{
    bus_wake(bus);
    return NULL;
}

Test(bus, wakes_its_owner_from_another_thread)
{
    struct bus *bus = open_end(0);
    pthread_t waker;
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    cr_assert_not(WITHIN(100, false)); /* until nothing else happens */
    int64_t began_us = clock_mono_us();
    cr_assert_eq(pthread_create(&waker, NULL, wake, bus), 0);
    bus_wait(bus, 30000);
    cr_assert_lt(clock_mono_us() - began_us, 15000000);
    pthread_join(waker, NULL);
    free_clients();
}

static atomic_bool is_watched;

/* Waits, and tells whether it has reported since. */
static void *wait_watched(void *bus)
{
    bool has_reported;
    int64_t ended_us;

    watchdog_begin("owner");
    atomic_store(&is_watched, true);
    bus_wait(bus, 30000);
    ended_us = clock_mono_us();
    while (clock_mono_us() <= ended_us)
        ;
    has_reported = watchdog_overdue(0, NULL) == 1;
    watchdog_end();
    return has_reported ? bus : NULL;
}

Test(bus, tells_the_watchdog_how_long_its_owner_waits)
{
    struct bus *bus = open_end(0);
    void *result = NULL;
    pthread_t owner;

    cr_assert(EVENTUALLY(bus_is_up(bus)));
    cr_assert_not(WITHIN(100, false)); /* until nothing else happens */
    watchdog_begin("test");
    watchdog_kick_at(clock_mono_us() + 60000000);
    cr_assert_eq(pthread_create(&owner, NULL, wait_watched, bus), 0);
    for (const int64_t until_us = clock_mono_us() + 30000000;
         !atomic_load(&is_watched) || watchdog_overdue(0, NULL) > 0; sched_yield())
        cr_assert_lt(clock_mono_us(), until_us, "it does not report how long it will wait");
    bus_wake(bus);
    pthread_join(owner, &result);
    cr_expect_eq(result, bus, "it reports after the wait");
    watchdog_end();
    free_clients();
}

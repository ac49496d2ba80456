/* The bus against a real nats-server, which is killed, stopped and started under it. */
#include "common/bus/bus.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/metrics.h"
#include "tests/support/lenient.h"
#include "tests/support/nats_server.h"

#define BODY "{\"name\":\"value\"}"

static struct nats_server server;

static void start_server(void)
{
    nats_server_prepare(&server, NULL);
    nats_server_start(&server);
}

static void stop_server(void)
{
    nats_server_stop(&server);
}

static struct bus *connect_to(const char *url)
{
    return bus_connect(&(struct bus_options){.url = url, .name = "test"});
}

/* Turns all ends until `condition`, which may have effects, holds once; false when it never does.
 */
#define WITHIN(ms, condition)                                                                      \
    ({                                                                                             \
        int64_t until_us_ = clock_mono_us() + (ms)*1000;                                           \
        bool holds_ = (condition);                                                                 \
        while (!holds_ && clock_mono_us() < until_us_) {                                           \
            turn();                                                                                \
            holds_ = (condition);                                                                  \
        }                                                                                          \
        holds_;                                                                                    \
    })
#define EVENTUALLY(condition) WITHIN(5000, condition)

static struct bus *ends[3];

static void turn(void)
{
    for (int i = 0; i < 3; i++) {
        if (ends[i] != NULL)
            bus_wait(ends[i], 2);
    }
}

static struct bus *open_end(int i)
{
    ends[i] = connect_to(server.url);
    return ends[i];
}

static void free_ends(void)
{
    for (int i = 0; i < 3; i++) {
        bus_free(ends[i]);
        ends[i] = NULL;
    }
}

static bool is(struct str s, const char *text)
{
    return str_equal(s, str_of(text));
}

/* What came by an inbox. */
struct replies {
    atomic_int n;
    uint64_t token[16];
    enum bus_reply_kind kind[16];
    struct bus_message *message[16];
};

static void on_reply(void *closure, uint64_t token, enum bus_reply_kind kind,
                     struct bus_message *message)
{
    struct replies *r = closure;
    int i = atomic_load(&r->n);
    r->token[i] = token;
    r->kind[i] = kind;
    r->message[i] = message;
    atomic_store(&r->n, i + 1);
}

static void count_notice(void *closure, struct bus_message *message)
{
    if (is(bus_message_body(message), BODY))
        atomic_fetch_add((atomic_int *)closure, 1);
}

TestSuite(bus, .init = start_server, .fini = stop_server, .timeout = 60);

Test(bus, carries_a_request_and_its_reply_with_their_headers)
{
    struct bus *client = open_end(0), *service = open_end(1);
    struct bus_mailbox *mailbox = bus_serve(service, "v1.thing.*", "thing");
    struct replies replies = {0};
    bus_open_inbox(client, on_reply, &replies);
    cr_assert(EVENTUALLY(bus_is_up(client) && bus_is_up(service)));
    turn(); /* the subscription leaves */

    struct bus_header headers[] = {{"Request-Id", "r1"}, {"Deadline", "17"}};
    struct bus_message *request = NULL;
    while (request == NULL) { /* the two connections are not ordered against each other */
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

    char reply_to[128];
    (void)snprintf(reply_to, sizeof(reply_to), "%.*s", STR_ARG(bus_message_reply_to(request)));
    bus_message_free(request);
    struct bus_header outcome = {"Outcome", "ok"};
    cr_assert_eq(bus_publish(service, reply_to, NULL, &outcome, 1, STR("done")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.kind[0], BUS_REPLY);
    cr_assert_eq(replies.token[0], 0xfeedULL << 48 | 7);
    cr_assert(is(bus_message_body(replies.message[0]), "done"));
    cr_assert(is(bus_message_header(replies.message[0], "Outcome"), "ok"));
    cr_assert_null(bus_message_reply_to(replies.message[0]).p);
    bus_message_free(replies.message[0]);
    free_ends();
}

Test(bus, names_the_request_that_has_no_responders)
{
    struct bus *both = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    struct replies replies = {0};
    bus_open_inbox(both, on_reply, &replies);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(bus_request(both, "v1.thing.get", 1, NULL, 0, STR("")), ST_OK);
    cr_assert_eq(bus_request(both, "v1.nobody.get", 2, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1 && bus_waiting(mailbox) == 1));
    cr_assert_eq(replies.token[0], 2);
    cr_assert_eq(replies.kind[0], BUS_NO_RESPONDERS);
    cr_assert_null(replies.message[0]);
    bus_message_free(bus_take(mailbox));
    free_ends();
}

Test(bus, brings_a_pulse_back_to_its_inbox)
{
    struct bus *bus = open_end(0);
    struct replies replies = {0};
    bus_open_inbox(bus, on_reply, &replies);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    cr_assert_eq(bus_pulse(bus, 11), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.token[0], 11);
    cr_assert_eq(replies.kind[0], BUS_REPLY);
    bus_message_free(replies.message[0]);
    free_ends();
}

Test(bus, does_not_wait_for_a_reply_for_ever)
{
    struct bus *impatient = ends[0] = bus_connect(
        &(struct bus_options){.url = server.url, .name = "test", .reply_patience_ms = 100});
    struct bus *other = open_end(1);
    struct bus_mailbox *mailbox = bus_serve(impatient, "v1.thing.*", "thing");
    struct bus_message *request = NULL;
    struct replies replies = {0}, others = {0};
    bus_open_inbox(impatient, on_reply, &replies);
    bus_open_inbox(other, on_reply, &others);
    cr_assert(EVENTUALLY(bus_is_up(impatient) && bus_is_up(other)));
    cr_assert_eq(bus_request(impatient, "v1.thing.get", 1, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY((request = bus_take(mailbox)) != NULL));
    int64_t over_us = clock_mono_us() + 400 * 1000;
    cr_assert(EVENTUALLY(clock_mono_us() > over_us));

    /* The server knows nobody any more who would take it. */
    cr_assert_eq(bus_request(other, bus_message_reply_to(request).p, 2, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&others.n) == 1));
    cr_assert_eq(others.kind[0], BUS_NO_RESPONDERS);
    cr_assert_eq(atomic_load(&replies.n), 0);
    bus_message_free(request);
    free_ends();
}

Test(bus, tells_an_empty_reply_from_no_responders)
{
    struct bus *both = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    struct bus_message *request = NULL;
    struct replies replies = {0};
    bus_open_inbox(both, on_reply, &replies);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(bus_request(both, "v1.thing.get", 1, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY((request = bus_take(mailbox)) != NULL));
    cr_assert_eq(bus_publish(both, bus_message_reply_to(request).p, NULL, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.kind[0], BUS_REPLY);
    bus_message_free(replies.message[0]);
    bus_message_free(request);
    free_ends();
}

Test(bus, drops_a_second_reply_rather_than_take_it_for_the_next_request_s)
{
    struct bus *both = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    struct bus_message *request = NULL;
    struct replies replies = {0};
    char reply_to[2][128];
    bus_open_inbox(both, on_reply, &replies);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(bus_request(both, "v1.thing.get", (uint64_t)i, NULL, 0, STR("")), ST_OK);
        cr_assert(EVENTUALLY((request = bus_take(mailbox)) != NULL));
        (void)snprintf(reply_to[i], sizeof(reply_to[i]), "%.*s",
                       STR_ARG(bus_message_reply_to(request)));
        bus_message_free(request);
        cr_assert_eq(bus_publish(both, reply_to[0], NULL, NULL, 0, STR("first")), ST_OK);
        if (i == 1)
            cr_assert_eq(bus_publish(both, reply_to[1], NULL, NULL, 0, STR("second")), ST_OK);
        cr_assert(EVENTUALLY(atomic_load(&replies.n) == i + 1));
    }
    cr_assert_str_neq(reply_to[0], reply_to[1]);
    cr_assert(is(bus_message_body(replies.message[0]), "first"));
    cr_assert_eq(replies.token[1], 1);
    cr_assert(is(bus_message_body(replies.message[1]), "second"));
    bus_message_free(replies.message[0]);
    bus_message_free(replies.message[1]);
    free_ends();
}

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
    free_ends();
}

static int take_all(struct bus_mailbox *mailbox)
{
    int n = 0;
    for (struct bus_message *m; (m = bus_take(mailbox)) != NULL; n++)
        bus_message_free(m);
    return n;
}

Test(bus, shares_the_work_of_a_group_and_gives_each_message_once)
{
    struct bus *client = open_end(0);
    struct bus_mailbox *a = bus_serve(open_end(1), "v1.thing.*", "thing");
    struct bus_mailbox *b = bus_serve(open_end(2), "v1.thing.*", "thing");
    int first = 0, second = 0;
    cr_assert(EVENTUALLY(bus_is_up(client) && bus_is_up(ends[1]) && bus_is_up(ends[2])));
    /* Both are known to the server once both got something. */
    while (first == 0 || second == 0) {
        cr_assert_eq(bus_publish(client, "v1.thing.warm", NULL, NULL, 0, STR("")), ST_OK);
        turn();
        first += take_all(a);
        second += take_all(b);
    }
    cr_assert_not(WITHIN(50, (first += take_all(a), second += take_all(b), false)));
    first = second = 0;
    for (int i = 0; i < 200; i++)
        cr_assert_eq(bus_publish(client, "v1.thing.do", NULL, NULL, 0, STR(BODY)), ST_OK);
    cr_assert(EVENTUALLY((first += take_all(a), second += take_all(b), first + second >= 200)));
    cr_assert_eq(first + second, 200);
    cr_assert_gt(first, 0);
    cr_assert_gt(second, 0);
    free_ends();
}

Test(bus, gives_a_notice_to_everybody_who_listens)
{
    atomic_int heard[2] = {0, 0};
    struct bus *client = open_end(0);
    bus_listen(open_end(1), "v1.notice.x", count_notice, &heard[0]);
    bus_listen(open_end(2), "v1.notice.x", count_notice, &heard[1]);
    cr_assert(EVENTUALLY(bus_is_up(client)));
    cr_assert(EVENTUALLY((bus_publish(client, "v1.notice.x", NULL, NULL, 0, STR(BODY)) == ST_OK &&
                          atomic_load(&heard[0]) > 0 && atomic_load(&heard[1]) > 0)));
    free_ends();
}

Test(bus, refuses_what_is_larger_than_the_server_takes)
{
    static char large[2 * 1024 * 1024];
    struct bus *both = open_end(0);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    struct str body = {large, sizeof(large)};
    cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, body), ST_INTERNAL);
    cr_assert(bus_is_up(both));
    free_ends();
}

Test(bus, delivers_what_was_published_right_before_it_was_freed)
{
    struct bus *client = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(open_end(1), "v1.thing.*", "thing");
    cr_assert(EVENTUALLY(bus_is_up(client) && bus_is_up(ends[1])));
    while (take_all(mailbox) == 0) {
        cr_assert_eq(bus_publish(client, "v1.thing.warm", NULL, NULL, 0, STR("")), ST_OK);
        turn();
    }
    cr_assert_not(WITHIN(50, (take_all(mailbox), false)));
    for (int i = 0; i < 5000; i++)
        cr_assert_eq(bus_publish(client, "v1.thing.do", NULL, NULL, 0, STR(BODY)), ST_OK);
    bus_free(client);
    ends[0] = NULL;
    int n = 0;
    cr_assert(EVENTUALLY((n += take_all(mailbox)) == 5000), "%d", n);
    free_ends();
}

Test(bus, keeps_what_waits_when_it_stops_serving)
{
    struct bus *client = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(open_end(1), "v1.thing.*", "thing");
    struct replies replies = {0};
    bus_open_inbox(client, on_reply, &replies);
    cr_assert(EVENTUALLY(bus_is_up(client) && bus_is_up(ends[1])));
    while (bus_waiting(mailbox) == 0) {
        cr_assert_eq(bus_publish(client, "v1.thing.do", NULL, NULL, 0, STR(BODY)), ST_OK);
        turn();
    }
    bus_stop_serving(mailbox);
    cr_assert_not(bus_is_drained(mailbox));
    int n = 0;
    cr_assert(EVENTUALLY((n += take_all(mailbox), bus_is_drained(mailbox))));
    cr_assert_gt(n, 0);
    cr_assert_eq(bus_request(client, "v1.thing.do", 9, NULL, 0, STR(BODY)), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.kind[0], BUS_NO_RESPONDERS);
    free_ends();
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
    cr_assert_not(WITHIN(100, false)); /* nothing else is going on any more */
    int64_t began_us = clock_mono_us();
    cr_assert_eq(pthread_create(&waker, NULL, wake, bus), 0);
    bus_wait(bus, 4000);
    cr_assert_lt(clock_mono_us() - began_us, 2000000);
    pthread_join(waker, NULL);
    free_ends();
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
                cr_assert_eq(
                    bus_publish(bus, bus_message_reply_to(m).p, NULL, NULL, 0, bus_message_body(m)),
                    ST_OK);
        }
    }
    bus_free(bus);
    return NULL;
}

Test(bus, calls_and_tells_an_answer_from_nobody_and_from_silence)
{
    struct echo e = {0};
    struct bus_message *reply = NULL;
    struct bus *client = connect_to(server.url);
    cr_assert_eq(bus_call(client, "v1.echo.say", NULL, 0, STR(BODY), 2000, &reply), ST_UNAVAILABLE);
    cr_assert_eq(pthread_create(&e.thread, NULL, echo, &e), 0);
    enum status st = ST_UNAVAILABLE;
    for (int64_t until_us = clock_mono_us() + 5000000;
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

/* -- when the server goes -------------------------------------------------------------------- */

struct link {
    atomic_int ups, downs;
};

static void on_link(void *closure, bool up)
{
    struct link *link = closure;
    atomic_fetch_add(up ? &link->ups : &link->downs, 1);
}

TestSuite(bus_faults, .fini = stop_server, .timeout = 60);

Test(bus_faults, connects_once_the_server_comes_up)
{
    nats_server_prepare(&server, NULL);
    struct bus *both = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    cr_assert_not(WITHIN(300, bus_is_up(both)));
    cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("early")), ST_UNAVAILABLE);
    nats_server_start(&server);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("late")), ST_OK);
    struct bus_message *message = NULL;
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    cr_assert(is(bus_message_body(message), "late"));
    bus_message_free(message);
    free_ends();
}

Test(bus_faults, heals_after_a_kill_and_forgets_what_it_refused)
{
    struct link link = {0};
    atomic_int notices = 0;
    struct replies replies = {0};
    start_server();
    struct bus *both = ends[0] = bus_connect(&(struct bus_options){
        .url = server.url, .name = "test", .on_link = on_link, .closure = &link});
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    bus_listen(both, "v1.notice.x", count_notice, &notices);
    bus_open_inbox(both, on_reply, &replies);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(atomic_load(&link.ups), 1);

    nats_server_kill(&server);
    cr_assert(EVENTUALLY(!bus_is_up(both)));
    cr_assert_eq(atomic_load(&link.downs), 1);
    cr_assert_eq(bus_socket(both), -1);
    int64_t longest_us = 0;
    for (int i = 0; i < 200; i++) {
        int64_t began_us = clock_mono_us();
        cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("down")), ST_UNAVAILABLE);
        cr_assert_eq(bus_request(both, "v1.thing.do", 1, NULL, 0, STR("down")), ST_UNAVAILABLE);
        int64_t took_us = clock_mono_us() - began_us;
        longest_us = took_us > longest_us ? took_us : longest_us;
        turn();
    }
    cr_assert_lt(longest_us, lenient(50000));

    nats_server_start(&server);
    cr_assert(WITHIN(lenient(2000), bus_is_up(both)));
    cr_assert_eq(atomic_load(&link.ups), 2);
    cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("up")), ST_OK);
    cr_assert_eq(bus_publish(both, "v1.notice.x", NULL, NULL, 0, STR(BODY)), ST_OK);
    cr_assert_eq(bus_request(both, "v1.nobody.do", 5, NULL, 0, STR("")), ST_OK);
    struct bus_message *message = NULL;
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    cr_assert(is(bus_message_body(message), "up"));
    bus_message_free(message);
    cr_assert(EVENTUALLY(atomic_load(&notices) == 1 && atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.token[0], 5);
    cr_assert_eq(bus_waiting(mailbox), 0);
    free_ends();
}

/* The way of an event loop: a missed step down and up again must not look like no change. */
Test(bus_faults, says_that_the_socket_is_another_one_although_its_number_may_be_the_same)
{
    start_server();
    struct bus *bus = connect_to(server.url);
    struct pollfd fds[2] = {{.fd = bus_changed_fd(bus), .events = POLLIN}};
    while (!bus_is_up(bus)) {
        cr_assert_eq(poll(fds, 1, 5000), 1);
        (void)bus_changed(bus);
    }
    (void)bus_changed(bus);
    cr_assert_not(bus_changed(bus));
    bus_wake(bus);
    cr_assert_not(bus_changed(bus));

    nats_server_kill(&server);
    nats_server_start(&server);
    fds[1] = (struct pollfd){.fd = bus_socket(bus), .events = POLLIN};
    cr_assert_eq(poll(fds + 1, 1, 5000), 1);
    bus_process(bus); /* reads the end */
    for (int64_t until_us = clock_mono_us() + 5000000;
         !bus_is_up(bus) && clock_mono_us() < until_us;)
        (void)poll(NULL, 0, 5);
    cr_assert(bus_is_up(bus));
    cr_assert(bus_changed(bus));
    cr_assert_not(bus_changed(bus));
    bus_free(bus);
}

Test(bus_faults, drops_what_was_published_but_not_flushed_when_the_server_died)
{
    start_server();
    struct bus *both = open_end(0);
    struct bus_mailbox *mailbox = bus_serve(both, "v1.thing.*", "thing");
    cr_assert(EVENTUALLY(bus_is_up(both)));
    nats_server_kill(&server);
    enum status st = bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("lost"));
    cr_assert(st == ST_OK || st == ST_UNAVAILABLE);
    cr_assert(EVENTUALLY(!bus_is_up(both)));
    nats_server_start(&server);
    cr_assert(EVENTUALLY(bus_is_up(both)));
    cr_assert_eq(bus_publish(both, "v1.thing.do", NULL, NULL, 0, STR("new")), ST_OK);
    struct bus_message *message = NULL;
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    cr_assert(is(bus_message_body(message), "new"));
    bus_message_free(message);
    free_ends();
}

Test(bus_faults, bounds_what_waits_for_a_server_that_does_not_read)
{
    static char large[64 * 1024];
    start_server();
    struct bus *bus = open_end(0);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    nats_server_pause(&server);
    size_t accepted = 0;
    enum status st = ST_OK;
    while (st == ST_OK && accepted < 64 * 1024 * 1024) {
        st = bus_publish(bus, "v1.thing.do", NULL, NULL, 0, (struct str){large, sizeof(large)});
        accepted += sizeof(large);
        (void)bus_flush(bus);
    }
    cr_assert_eq(st, ST_UNAVAILABLE);
    nats_server_resume(&server);
    cr_assert(EVENTUALLY(bus_flush(bus)));
    cr_assert_eq(bus_publish(bus, "v1.thing.do", NULL, NULL, 0, STR("")), ST_OK);
    free_ends();
}

Test(bus_faults, gets_past_a_server_that_accepts_and_stays_silent)
{
    nats_server_prepare(&server, NULL);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(server.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(silent, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    cr_assert_eq(bind(silent, (struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(listen(silent, 8), 0);

    int64_t began_us = clock_mono_us();
    struct bus *bus = open_end(0);
    cr_assert_lt(clock_mono_us() - began_us, lenient(200000));
    struct pollfd fd = {.fd = silent, .events = POLLIN};
    cr_assert_eq(poll(&fd, 1, 5000), 1);
    cr_assert_not(WITHIN(1500, bus_is_up(bus)));
    close(silent);
    nats_server_start(&server);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    free_ends();
}

static struct bus *connect_as(const char *credentials, const char *inbox_prefix)
{
    char url[128];
    (void)snprintf(url, sizeof(url), "nats://%s@127.0.0.1:%u", credentials, server.port);
    return ends[0] = bus_connect(
               &(struct bus_options){.url = url, .name = "test", .inbox_prefix = inbox_prefix});
}

static void restart_with(const char *config)
{
    struct nats_server old = server;
    nats_server_stop(&server);
    nats_server_prepare(&server, config);
    server.port = old.port;
    nats_server_start(&server);
}

Test(bus_faults, goes_on_after_it_was_refused_at_first_and_later)
{
    const char *ours = "authorization {user: a, password: right}";
    const char *other = "authorization {user: a, password: other}";
    struct bus_message *message = NULL;
    nats_server_prepare(&server, other);
    nats_server_start(&server);
    struct bus *bus = connect_as("a:right", NULL);
    struct bus_mailbox *mailbox = bus_serve(bus, "v1.thing.*", "thing");
    cr_assert_not(WITHIN(500, bus_is_up(bus)));
    restart_with(ours);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    restart_with(other);
    cr_assert(EVENTUALLY(!bus_is_up(bus)));
    cr_assert_not(WITHIN(1000, bus_is_up(bus)));
    restart_with(ours);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    cr_assert_eq(bus_publish(bus, "v1.thing.do", NULL, NULL, 0, STR(BODY)), ST_OK);
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    bus_message_free(message);
    free_ends();
}

static bool metrics_say(const char *line)
{
    struct arena arena;
    struct buf out;
    arena_init(&arena, 1024 * 1024);
    buf_init(&out, &arena, 4096);
    metrics_render(&out);
    bool found = memmem(out.p, out.n, line, strlen(line)) != NULL;
    arena_release(&arena);
    return found;
}

Test(bus_faults, counts_what_this_user_may_not_do_and_keeps_to_its_own_inbox)
{
    struct replies replies = {0};
    nats_server_prepare(&server, "authorization {users: [{user: a, password: b, permissions: {"
                                 "publish: [\"v1.mine.>\"], subscribe: [\"_INBOX_a.>\"]}}]}");
    nats_server_start(&server);
    bus_meter_open();
    struct bus *bus = connect_as("a:b", "_INBOX_a");
    bus_open_inbox(bus, on_reply, &replies);
    cr_assert(EVENTUALLY(bus_is_up(bus)));
    cr_assert_eq(bus_request(bus, "v1.mine.get", 3, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY(atomic_load(&replies.n) == 1));
    cr_assert_eq(replies.kind[0], BUS_NO_RESPONDERS);
    cr_assert_eq(bus_permission_violations(bus), 0);
    cr_assert_eq(bus_publish(bus, "v1.others.do", NULL, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY(bus_permission_violations(bus) == 1));
    (void)bus_serve(bus, "v1.others.*", "x");
    cr_assert(EVENTUALLY(bus_permission_violations(bus) == 2));
    cr_assert(EVENTUALLY(metrics_say("\nconversations_bus_permission_violations_total 2\n")));
    cr_assert(bus_is_up(bus));
    free_ends();
}

Test(bus_faults, refuses_unusable_options)
{
    cr_assert_null(connect_to(""));
    cr_assert_null(bus_connect(
        &(struct bus_options){.url = "tls://127.0.0.1:4222",
                              .name = "test",
                              .tls = &(struct bus_tls){.ca_file = "/nonexistent.pem"}}));
}

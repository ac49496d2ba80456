/* Requests that travel in bundles, and their replies, against a real nats-server. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/bus/bus_parts.h"
#include "tests/unit/common/bus/bus_fixture.h"

TestSuite(bus_bundles, .init = start_server, .fini = stop_server);

static const struct bus_header header = {"Request-Id", "r1"};
static const struct bus_header outcome = {"Outcome", "ok"};

static struct replies replies;

static bool are_up(void)
{
    return bus_is_up(clients[0]) && bus_is_up(clients[1]);
}

/* Clients 0 and 1, and a mailbox of the second. */
static struct bus_mailbox *open_both(void)
{
    struct bus_message *message = NULL;
    struct bus_mailbox *mailbox;

    (void)open_end(0);
    mailbox = bus_serve(open_end(1), "v1.thing.get", "thing");
    bus_open_inbox(clients[0], on_reply, is_always_awaited, &replies);
    cr_assert(EVENTUALLY(are_up()));
    /* It is sent after the subscriptions. */
    cr_assert_eq(bus_publish(clients[1], "v1.thing.get", NULL, NULL, 0, STR("")), ST_OK);
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    bus_message_free(message);
    return mailbox;
}

static void ask(uint64_t handle, struct str body)
{
    cr_assert_eq(bus_request(clients[0], "v1.thing.get", handle, &header, 1, body), ST_OK);
}

static void answer(struct bus_message *request, struct str body)
{
    cr_assert_eq(bus_reply(clients[1], request, &outcome, 1, body), ST_OK);
}

static bool have_replied(int n)
{
    return atomic_load(&replies.n) == n;
}

static void free_replies(void)
{
    for (int i = 0; i < atomic_load(&replies.n); i++)
        bus_message_free(replies.message[i]);
    atomic_store(&replies.n, 0);
}

/* The reply subject of a message; messages of one bundle share it. */
static const char *reply_to(const struct bus_message *message)
{
    return bus_message_reply_to(message).p;
}

Test(bus_bundles, carry_the_requests_and_the_replies_of_one_step)
{
    struct bus_mailbox *mailbox = open_both();
    struct bus_message *request[3];

    ask(7, STR("a"));
    ask(8, STR("b"));
    ask(9, STR("c"));
    cr_assert(EVENTUALLY(bus_waiting(mailbox) > 0));
    cr_assert_eq(bus_waiting(mailbox), 1, "one message");
    for (int i = 0; i < 3; i++) {
        request[i] = bus_take(mailbox);
        cr_assert_not_null(request[i]);
        cr_assert_eq(bus_waiting(mailbox), (size_t)(2 - i));
        cr_assert(is(bus_message_header(request[i], "Request-Id"), "r1"));
        cr_assert_null(bus_message_header(request[i], "Scope").p);
        cr_assert_str_eq(reply_to(request[i]), reply_to(request[0]));
    }
    cr_assert(is(bus_message_body(request[1]), "b"));
    cr_assert_null(bus_take(mailbox));
    answer(request[2], STR("C"));
    answer(request[0], STR("A"));
    cr_assert(EVENTUALLY(have_replied(2)));
    cr_assert_eq(replies.handle[0], 9);
    cr_assert(is(bus_message_body(replies.message[0]), "C"));
    cr_assert(is(bus_message_header(replies.message[0], "Outcome"), "ok"));
    cr_assert_eq(replies.handle[1], 7);
    answer(request[1], STR("B")); /* a step later */
    cr_assert(EVENTUALLY(have_replied(3)));
    cr_assert_eq(replies.handle[2], 8);
    cr_assert(is(bus_message_body(replies.message[2]), "B"));
    for (int i = 0; i < 3; i++)
        bus_message_free(request[i]);
    free_replies();
    free_clients();
}

Test(bus_bundles, use_a_reply_subject_again_when_all_of_one_is_answered)
{
    struct bus_mailbox *mailbox = open_both();
    struct bus_message *first = NULL, *next = NULL;
    char subject[128];

    ask(1, STR(""));
    cr_assert(EVENTUALLY((first = bus_take(mailbox)) != NULL));
    (void)snprintf(subject, sizeof(subject), "%s", reply_to(first));
    cr_assert_not_null(strstr(subject, ".v1.thing.get."), "%s", subject);
    answer(first, STR(""));
    answer(first, STR("again")); /* a second reply is dropped */
    cr_assert(EVENTUALLY(have_replied(1)));
    ask(2, STR(""));
    cr_assert(EVENTUALLY((next = bus_take(mailbox)) != NULL));
    cr_assert_str_eq(reply_to(next), subject);
    bus_push(clients[1]);
    answer(first, STR("late")); /* the slot no longer waits for this request */
    answer(next, STR("right"));
    cr_assert(EVENTUALLY(have_replied(2)));
    cr_assert_eq(replies.handle[1], 2);
    cr_assert(is(bus_message_body(replies.message[1]), "right"));
    bus_message_free(first);
    bus_message_free(next);
    free_replies();
    free_clients();
}

Test(bus_bundles, are_sent_when_full_and_hold_no_large_body)
{
    static char large[BUNDLE_BODY_MAX + 1], half[BUNDLE_BODY_MAX];
    struct bus_mailbox *mailbox = open_both();
    size_t n = 0;
    struct bus_message *message;

    for (int i = 0; i < BUNDLE_ITEMS_MAX + 1; i++)
        ask((uint64_t)i, STR(""));
    cr_assert(EVENTUALLY(bus_waiting(mailbox) == 2), "by number");
    for (; (message = bus_take(mailbox)) != NULL; n++)
        bus_message_free(message);
    cr_assert_eq(n, BUNDLE_ITEMS_MAX + 1);
    for (uint64_t i = 100; i < 104; i++)
        ask(i, (struct str){half, sizeof(half)});
    cr_assert(EVENTUALLY(bus_waiting(mailbox) == 2), "by bytes");
    while ((message = bus_take(mailbox)) != NULL)
        bus_message_free(message);
    memset(large, 'x', sizeof(large));
    ask(200, (struct str){large, sizeof(large)});
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    cr_assert(str_equal(bus_message_body(message), (struct str){large, sizeof(large)}));
    bus_message_free(message);
    free_clients();
}

enum { LARGE = 512 * 1024, TOO_LARGE = BUS_PAYLOAD_MIN };

/* Bytes that cannot be compressed. */
static struct str noise(size_t n)
{
    char *p = malloc(n);
    uint32_t state = 1;

    cr_assert_not_null(p);
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        p[i] = (char)(state >> 24);
    }
    return (struct str){p, n};
}

/* Answers the first request with a few bytes, then the second one with `large`. */
static void answer_small_and_large(struct str large)
{
    struct bus_mailbox *mailbox = open_both();
    struct bus_message *request[2];

    ask(1, STR(""));
    ask(2, STR(""));
    cr_assert(EVENTUALLY(bus_waiting(mailbox) > 0));
    for (int i = 0; i < 2; i++)
        request[i] = bus_take(mailbox);
    answer(request[0], STR("small"));
    answer(request[1], large);
    for (int i = 0; i < 2; i++)
        bus_message_free(request[i]);
    cr_assert(EVENTUALLY(have_replied(2)));
}

Test(bus_bundles, carry_a_large_reply_alone)
{
    const struct str large = noise(LARGE);

    answer_small_and_large(large);
    cr_assert_eq(replies.handle[0], 2, "it has not waited for the others");
    cr_assert(str_equal(bus_message_body(replies.message[0]), large));
    cr_assert(is(bus_message_body(replies.message[1]), "small"));
    free_replies();
    free_clients();
    free((char *)large.p);
}

Test(bus_bundles, carry_a_large_reply_with_others_when_it_can_be_compressed)
{
    const struct str large = {calloc(1, LARGE), LARGE};

    answer_small_and_large(large);
    cr_assert_eq(replies.handle[1], 2, "in its turn");
    cr_assert_eq(replies.message[0]->parcel, replies.message[1]->parcel, "in one message");
    cr_assert(is(bus_message_body(replies.message[0]), "small"));
    cr_assert(str_equal(bus_message_body(replies.message[1]), large));
    cr_assert(is(bus_message_header(replies.message[1], "Outcome"), "ok"));
    free_replies();
    free_clients();
    free((char *)large.p);
}

/* As from a stock client. */
Test(bus_bundles, compress_no_reply_to_a_plain_request)
{
    const struct str large = {calloc(1, LARGE), LARGE};
    struct bus_mailbox *mailbox = open_both(), *plain = bus_serve(clients[0], "stock.inbox", NULL);
    struct bus_message *request = NULL, *reply = NULL;

    pump();
    cr_assert_eq(bus_publish(clients[0], "v1.thing.get", "stock.inbox", NULL, 0, STR("a")), ST_OK);
    cr_assert(EVENTUALLY((request = bus_take(mailbox)) != NULL));
    answer(request, large);
    cr_assert(EVENTUALLY((reply = bus_take(plain)) != NULL));
    cr_assert(str_equal(bus_message_body(reply), large));
    bus_message_free(request);
    bus_message_free(reply);
    free_clients();
    free((char *)large.p);
}

Test(bus_bundles, take_no_compressed_request)
{
    static char zeros[BUNDLE_BODY_MAX];
    struct bundle_writer bundle = {.p = NULL};
    struct bus_mailbox *mailbox = open_both();
    struct bus_message *request = NULL;

    bundle_add_compressed(&bundle, 3, &header, 1, (struct str){zeros, sizeof(zeros)});
    cr_assert_eq(bus_publish(clients[0], "v1.thing.get", "some.v1.thing.get.1", NULL, 0,
                             bundle_bytes(&bundle)),
                 ST_OK);
    ask(1, STR("behind"));
    cr_assert(EVENTUALLY((request = bus_take(mailbox)) != NULL));
    cr_assert(is(bus_message_body(request), "behind"));
    bus_message_free(request);
    bundle_release(&bundle);
    free_clients();
}

/* Otherwise a message of 8 MB could make a gateway allocate a gigabyte. */
Test(bus_bundles, expand_no_more_of_a_message_than_one_reply_may_have)
{
    const struct str zeros = {calloc(1, BUNDLE_COMPRESS_MAX), BUNDLE_COMPRESS_MAX};
    struct bundle_writer bundle = {.p = NULL};
    struct bus_mailbox *mailbox = open_both();
    struct bus_message *request = NULL;

    for (uint64_t handle = 1; handle <= 3; handle++)
        ask(handle, STR("a"));
    cr_assert(EVENTUALLY((request = bus_take(mailbox)) != NULL));
    bundle_add_compressed(&bundle, 1, &outcome, 1, zeros);
    bundle_add_compressed(&bundle, 2, &outcome, 1, (struct str){zeros.p, BUNDLE_COMPRESS_MIN});
    bundle_add(&bundle, 3, &outcome, 1, STR("C"));
    cr_assert_eq(bus_publish(clients[1], reply_to(request), NULL, NULL, 0, bundle_bytes(&bundle)),
                 ST_OK);
    cr_assert(EVENTUALLY(have_replied(2)));
    cr_assert_eq(replies.handle[0], 1);
    cr_assert(str_equal(bus_message_body(replies.message[0]), zeros));
    cr_assert_eq(replies.handle[1], 3);
    bus_message_free(request);
    bundle_release(&bundle);
    free_replies();
    free_clients();
    free((char *)zeros.p);
}

/* The next item is not affected; the request of the damaged one gets no reply. */
Test(bus_bundles, drop_a_reply_that_cannot_be_expanded)
{
    static char zeros[BUNDLE_BODY_MAX];
    struct bundle_writer bundle = {.p = NULL};
    struct bus_mailbox *mailbox = open_both();
    struct bus_message *request = NULL;

    ask(1, STR("a"));
    ask(2, STR("b"));
    cr_assert(EVENTUALLY((request = bus_take(mailbox)) != NULL));
    bundle_add_compressed(&bundle, 1, &outcome, 1, (struct str){zeros, sizeof(zeros)});
    bundle.p[bundle.n - 1] ^= 1;
    bundle.p[16 + sizeof("Outcome") + sizeof("ok")] = 0x7f; /* part of the expanded length */
    bundle_add(&bundle, 2, &outcome, 1, STR("B"));
    cr_assert_eq(bus_publish(clients[1], reply_to(request), NULL, NULL, 0, bundle_bytes(&bundle)),
                 ST_OK);
    cr_assert(EVENTUALLY(have_replied(1)));
    cr_assert_eq(replies.handle[0], 2);
    cr_assert(is(bus_message_body(replies.message[0]), "B"));
    bus_message_free(request);
    bundle_release(&bundle);
    free_replies();
    free_clients();
}

Test(bus_bundles, refuse_a_reply_that_the_server_does_not_take)
{
    const struct str too_large = noise(TOO_LARGE);
    struct bus_mailbox *mailbox = open_both();
    struct bus_message *request = NULL;

    ask(1, STR(""));
    cr_assert(EVENTUALLY((request = bus_take(mailbox)) != NULL));
    cr_assert_eq(bus_reply(clients[1], request, &outcome, 1, too_large), ST_INTERNAL);
    answer(request, STR("small"));
    cr_assert(EVENTUALLY(have_replied(1)));
    bus_message_free(request);
    free_replies();
    free_clients();
    free((char *)too_large.p);
}

static void *answer_elsewhere(void *request)
{
    cr_assert_eq(bus_reply(clients[2], request, &outcome, 1, STR("elsewhere")), ST_OK);
    return NULL;
}

/* As the slow lane's actor does. */
Test(bus_bundles, are_answered_in_part_by_another_bus_on_its_thread)
{
    struct bus_mailbox *mailbox = open_both();
    struct bus_message *request[3];
    pthread_t thread;

    (void)open_end(2);
    cr_assert(EVENTUALLY(bus_is_up(clients[2])));
    for (uint64_t i = 0; i < 3; i++)
        ask(i, STR(""));
    cr_assert(EVENTUALLY(bus_waiting(mailbox) > 0));
    for (int i = 0; i < 3; i++)
        request[i] = bus_take(mailbox);
    answer(request[0], STR("here"));
    cr_assert_eq(pthread_create(&thread, NULL, answer_elsewhere, request[1]), 0);
    answer(request[2], STR("here"));
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert(EVENTUALLY(have_replied(3)));
    for (int i = 0; i < 3; i++) {
        const char *expected = replies.handle[i] == 1 ? "elsewhere" : "here";

        cr_assert(is(bus_message_body(replies.message[i]), expected));
        bus_message_free(request[i]);
    }
    free_replies();
    free_clients();
}

Test(bus_bundles, have_no_responders_if_no_mailbox_takes_them)
{
    (void)open_end(0);
    bus_open_inbox(clients[0], on_reply, is_always_awaited, &replies);
    cr_assert(EVENTUALLY(bus_is_up(clients[0])));
    ask(1, STR("a"));
    ask(2, STR("b"));
    cr_assert(EVENTUALLY(have_replied(2)));
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(replies.kind[i], BUS_NO_RESPONDERS);
        cr_assert_eq(replies.handle[i], (uint64_t)i + 1);
    }
    cr_assert_eq(clients[0]->requests.n_open, 0);
    free_clients();
}

/* Only a reply subject that ends with the message's own subject and a number names a bundle. */
Test(bus_bundles, leave_the_messages_of_stock_clients_as_they_are)
{
    static const char *const reply_to[] = {
        "stock.inbox",     "stock.v1.thing.get", "stock.v1.thing.get.1.2",
        "xv1.thing.get.1", "stock.thing.get.1",  "v1.thing.get.1",
    };
    struct bus_mailbox *mailbox = open_both();

    for (size_t i = 0; i < ARRAY_SIZE(reply_to); i++) {
        struct bus_message *message = NULL;

        cr_assert_eq(bus_publish(clients[0], "v1.thing.get", reply_to[i], &header, 1, STR("{}")),
                     ST_OK);
        cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL), "%s", reply_to[i]);
        cr_assert(bus_message_is_plain(message));
        cr_assert(is(bus_message_body(message), "{}"));
        cr_assert(is(bus_message_header(message, "Request-Id"), "r1"));
        bus_message_free(message);
    }
    free_clients();
}

Test(bus_bundles, are_dropped_when_malformed)
{
    struct bus_mailbox *mailbox = open_both();
    struct bus_message *message = NULL;

    cr_assert_eq(
        bus_publish(clients[0], "v1.thing.get", "some.v1.thing.get.1", NULL, 0, STR("\0\0\0")),
        ST_OK);
    ask(1, STR("after"));
    cr_assert(EVENTUALLY((message = bus_take(mailbox)) != NULL));
    cr_assert(is(bus_message_body(message), "after"));
    bus_message_free(message);
    free_clients();
}

/* The thread of nats.c sees the loss before this thread sends its gathered requests. */
Test(bus_bundles, tell_what_never_left)
{
    (void)open_both();
    ask(1, STR("a"));
    ask(2, STR("b"));
    nats_server_kill(&server);
    for (int64_t until_us = clock_mono_us() + 30000000;
         bus_socket(clients[0]) >= 0 && clock_mono_us() < until_us;)
        bus_process(clients[0]); /* reads the end of file, sends nothing */
    cr_assert(EVENTUALLY(have_replied(2)));
    cr_assert_eq(replies.kind[0], BUS_NO_RESPONDERS);
    cr_assert_eq(replies.kind[1], BUS_NO_RESPONDERS);
    cr_assert_eq(bus_request(clients[0], "v1.thing.get", 3, NULL, 0, STR("")), ST_UNAVAILABLE);
    free_clients();
}

Test(bus_bundles, count_replies_that_find_no_link)
{
    struct bus_mailbox *mailbox = open_both();
    struct bus_message *request = NULL;

    ask(1, STR("a"));
    cr_assert(EVENTUALLY((request = bus_take(mailbox)) != NULL));
    answer(request, STR("A"));
    nats_server_kill(&server);
    for (int64_t until_us = clock_mono_us() + 30000000;
         bus_socket(clients[1]) >= 0 && clock_mono_us() < until_us;)
        bus_process(clients[1]);
    cr_assert_eq(bus_lost_replies(clients[1]), 0);
    cr_assert(EVENTUALLY(bus_lost_replies(clients[1]) == 1));
    cr_assert_eq(bus_reply(clients[1], request, &outcome, 1, STR("")), ST_UNAVAILABLE);
    bus_message_free(request);
    free_replies();
    free_clients();
}

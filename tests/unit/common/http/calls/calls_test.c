/* Calls on a fake bus, which records what is sent, with a clock that the tests set. Both replace
   real functions, so this is a separate program. */
#include "common/http/calls.h"
#include "common/http/edge_metrics.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/metrics.h"
#include "common/http/edge_request.h"
#include "proto/headers.h"

/* -- the bus --------------------------------------------------------------------------------- */

struct bus {
    bool is_up, refuses;
    int n_sent;
    char subject[32], body[32];
    char headers[CALL_HEADERS_MAX][48]; /* name=value, of the latest request */
    size_t n_headers;
    int64_t deadline_ms;
};

struct bus_message {
    int n_freed;
};

static struct bus bus;

void bus_metrics_open(void)
{
}

bool bus_is_up(const struct bus *self)
{
    return self->is_up;
}

enum status bus_request(struct bus *self, const char *subject, uint64_t handle,
                        const struct bus_header *headers, size_t n_headers, struct str body)
{
    if (self->refuses)
        return ST_INTERNAL;
    self->n_sent++;
    snprintf(self->subject, sizeof(self->subject), "%s", subject);
    snprintf(self->body, sizeof(self->body), "%.*s", STR_ARG(body));
    cr_assert_leq(n_headers, CALL_HEADERS_MAX);
    self->n_headers = n_headers;
    for (size_t i = 0; i < n_headers; i++) {
        snprintf(self->headers[i], sizeof(self->headers[i]), "%s=%s", headers[i].name,
                 headers[i].value);
        if (strcmp(headers[i].name, HEADER_DEADLINE) == 0)
            self->deadline_ms = strtoll(headers[i].value, NULL, 10);
    }
    return ST_OK;
}

struct str bus_message_header(struct bus_message *message, const char *name)
{
    return STR_NONE;
}

struct str bus_message_body(const struct bus_message *message)
{
    return STR_NONE;
}

void bus_message_free(struct bus_message *message)
{
    if (message != NULL)
        message->n_freed++;
}

/* -- timers ---------------------------------------------------------------------------------- */

enum { CALLS = 3, SECOND_MS = 1000 };

static struct timer *running[CALLS];
static int64_t timeout_ms; /* of all */

void timer_start(struct timers *timers, struct timer *timer, int64_t ms,
                 void (*on_due)(struct timer *timer))
{
    size_t i = 0;

    while (running[i] != NULL)
        i++;
    running[i] = timer;
    timer->on_due = on_due;
    timeout_ms = ms;
}

void timer_stop(struct timer *timer)
{
    for (size_t i = 0; i < CALLS; i++)
        if (running[i] == timer)
            running[i] = NULL;
}

/* -- a caller -------------------------------------------------------------------------------- */

static struct heartbeat heartbeat;
static struct calls calls;
static struct bus_message message;

/* How the owner's latest call ended. */
struct owner {
    int n_ended;
    enum call_end end;
    struct bus_message *message;
    uint64_t cancels;  /* 0: nothing */
    bool starts_again; /* in the callback */
    uint64_t handle;
};

static struct call_request request_of(struct owner *owner, enum call_timeout timeout);

static void on_end(void *self, enum call_end end, struct bus_message *reply)
{
    struct owner *owner = self;

    owner->n_ended++;
    owner->end = end;
    owner->message = reply;
    if (owner->cancels != 0)
        calls_cancel(&calls, owner->cancels);
    if (owner->starts_again) {
        struct call_request request = request_of(owner, CALL_TIMEOUT_SHORT);

        owner->starts_again = false;
        cr_assert_eq(calls_start(&calls, &request, &owner->handle), ST_OK);
    }
}

static struct call_request request_of(struct owner *owner, enum call_timeout timeout)
{
    return (struct call_request){.subject = "v1.thing.get",
                                 .headers = {.at = {{HEADER_REQUEST_ID, "r1"}}, .n = 1},
                                 .body = STR("{}"),
                                 .timeout = timeout,
                                 .until_us = clock_mono_us() + INT64_C(1000) * 5 * SECOND_MS,
                                 .on_end = on_end,
                                 .owner = owner};
}

static enum status try_to_start(struct owner *owner, enum call_timeout timeout)
{
    const struct call_request request = request_of(owner, timeout);

    return calls_start(&calls, &request, &owner->handle);
}

static void start(struct owner *owner, enum call_timeout timeout)
{
    cr_assert_eq(try_to_start(owner, timeout), ST_OK);
}

static void reply_to(uint64_t handle)
{
    calls_on_reply(&calls, handle, BUS_REPLY, &message);
}

static void pass(int64_t ms)
{
    for (size_t i = 0; i < CALLS; i++) {
        struct timer *timer = running[i];

        if (timer == NULL || ms < timeout_ms)
            continue;
        running[i] = NULL;
        timer->on_due(timer);
    }
}

static void set_up(void)
{
    if (edge_metrics.late_replies == NULL)
        edge_metrics_open("test_");
    bus = (struct bus){.is_up = true};
    heartbeat_init(&heartbeat, 4 * HEARTBEAT_MS);
    heartbeat_received(&heartbeat);
    calls_init(&calls, NULL, &bus, &heartbeat, CALLS, 10 * SECOND_MS);
}

static void tear_down(void)
{
    calls_release(&calls);
}

TestSuite(calls, .init = set_up, .fini = tear_down);

/* -- sending --------------------------------------------------------------------------------- */

Test(calls, send_the_command_with_its_headers_and_a_deadline)
{
    struct owner owner = {0};
    int64_t now_ms = clock_us() / 1000;

    start(&owner, CALL_TIMEOUT_SHORT);
    cr_expect_eq(owner.n_ended, 0);
    cr_expect_str_eq(bus.subject, "v1.thing.get");
    cr_expect_str_eq(bus.body, "{}");
    cr_expect_eq(bus.n_headers, 2);
    cr_expect_str_eq(bus.headers[0], HEADER_REQUEST_ID "=r1");
    cr_expect_geq(bus.deadline_ms, now_ms + CALL_SHORT_MS);
    cr_expect_leq(bus.deadline_ms, clock_us() / 1000 + CALL_SHORT_MS);
}

Test(calls, have_the_deadline_of_their_owner)
{
    struct owner owner = {0};
    int64_t now_ms = clock_us() / 1000;

    start(&owner, CALL_TIMEOUT_OWNER);
    cr_expect_geq(bus.deadline_ms, now_ms + 5 * SECOND_MS - 1);
    cr_expect_leq(bus.deadline_ms, clock_us() / 1000 + 5 * SECOND_MS);
}

Test(calls, have_deadlines_by_the_clock_of_access_if_they_are_for_it)
{
    struct owner owner = {0};
    struct call_request request = request_of(&owner, CALL_TIMEOUT_SHORT);
    const int64_t now_ms = clock_us() / 1000;
    uint64_t handle;

    calls.access_skew_ms = -6000; /* it is ahead */
    request.subject = "v1.access.thing";
    cr_assert_eq(calls_start(&calls, &request, &handle), ST_OK);
    cr_expect_geq(bus.deadline_ms, now_ms + CALL_SHORT_MS + 6000);
    cr_expect_leq(bus.deadline_ms, clock_us() / 1000 + CALL_SHORT_MS + 6000);
    calls_cancel(&calls, handle);
    start(&owner, CALL_TIMEOUT_SHORT);
    cr_expect_leq(bus.deadline_ms, clock_us() / 1000 + CALL_SHORT_MS);
}

Test(calls, have_room_for_all_headers_and_the_deadline)
{
    struct owner owner = {0};
    struct call_request request = request_of(&owner, CALL_TIMEOUT_SHORT);

    while (request.headers.n < CALL_HEADERS_MAX - 1)
        call_headers_add(&request.headers, HEADER_SCOPE, "full");
    cr_assert_eq(calls_start(&calls, &request, &owner.handle), ST_OK);
    cr_expect_eq(bus.n_headers, CALL_HEADERS_MAX);
    cr_expect_eq(request.headers.n, CALL_HEADERS_MAX - 1, "the caller's headers are unchanged");
}

Test(calls, refuse_a_header_beyond_the_capacity, .signal = SIGABRT)
{
    struct call_headers headers = {.n = 0};

    for (int i = 0; i <= CALL_HEADERS_MAX; i++)
        call_headers_add(&headers, HEADER_SCOPE, "full");
}

Test(calls, are_not_sent_to_a_bus_that_is_down_or_silent_or_refuses)
{
    struct owner owner = {0};

    bus.is_up = false;
    cr_expect_eq(try_to_start(&owner, CALL_TIMEOUT_SHORT), ST_UNAVAILABLE);
    cr_expect_not(calls_may_wait(&calls));
    bus.is_up = true;
    heartbeat_reset(&heartbeat);
    cr_expect_eq(try_to_start(&owner, CALL_TIMEOUT_SHORT), ST_UNAVAILABLE);
    cr_expect(calls_may_wait(&calls));
    heartbeat_received(&heartbeat);
    bus.refuses = true;
    for (int i = 0; i <= CALLS; i++)
        cr_expect_eq(try_to_start(&owner, CALL_TIMEOUT_SHORT), ST_INTERNAL);
    bus.refuses = false;
    start(&owner, CALL_TIMEOUT_SHORT);
    cr_expect_eq(owner.n_ended, 0);
    cr_expect_eq(bus.n_sent, 1);
}

Test(calls, are_refused_when_the_table_is_full)
{
    struct owner owners[CALLS + 1] = {0};

    for (int i = 0; i < CALLS; i++)
        start(&owners[i], CALL_TIMEOUT_OWNER);
    cr_expect_eq(try_to_start(&owners[CALLS], CALL_TIMEOUT_OWNER), ST_UNAVAILABLE);
    cr_expect_eq(bus.n_sent, CALLS);
    calls_cancel(&calls, owners[1].handle);
    start(&owners[CALLS], CALL_TIMEOUT_OWNER);
    for (int i = 0; i < CALLS; i++)
        cr_expect_neq(owners[i].handle, owners[CALLS].handle);
}

/* -- ending ---------------------------------------------------------------------------------- */

Test(calls, end_once_with_a_reply)
{
    struct owner owner = {0};
    int64_t late = metric_read(edge_metrics.late_replies);

    start(&owner, CALL_TIMEOUT_SHORT);
    cr_expect(calls_is_pending(&calls, owner.handle));
    reply_to(owner.handle);
    cr_expect_eq(owner.n_ended, 1);
    cr_expect_eq(owner.end, CALL_REPLIED);
    cr_expect_eq(owner.message, &message);
    cr_expect_eq(message.n_freed, 0, "it is the callee's");
    cr_expect_not(calls_is_pending(&calls, owner.handle));
    reply_to(owner.handle);
    pass(60 * SECOND_MS);
    calls_lose_all(&calls);
    cr_expect_eq(owner.n_ended, 1);
    cr_expect_eq(message.n_freed, 1, "the second one is dropped");
    cr_expect_eq(metric_read(edge_metrics.late_replies), late + 1);
}

Test(calls, end_when_there_are_no_responders)
{
    struct owner owner = {0}, other = {0};

    start(&owner, CALL_TIMEOUT_SHORT);
    start(&other, CALL_TIMEOUT_SHORT);
    calls_on_reply(&calls, owner.handle, BUS_NO_RESPONDERS, NULL);
    cr_expect_eq(owner.n_ended, 1);
    cr_expect_eq(owner.end, CALL_NOBODY);
    cr_expect_null(owner.message);
    cr_expect_eq(other.n_ended, 0);
}

Test(calls, end_when_a_short_time_is_over_and_drop_the_late_reply)
{
    struct owner owner = {0};

    start(&owner, CALL_TIMEOUT_SHORT);
    pass(CALL_SHORT_MS + CALL_GRACE_MS - 1);
    cr_expect_eq(owner.n_ended, 0);
    pass(CALL_SHORT_MS + CALL_GRACE_MS);
    cr_expect_eq(owner.n_ended, 1);
    cr_expect_eq(owner.end, CALL_LATE);
    reply_to(owner.handle);
    cr_expect_eq(owner.n_ended, 1);
    cr_expect_eq(message.n_freed, 1);
}

Test(calls, leave_their_end_to_an_owner_with_its_own_time)
{
    struct owner owner = {0};

    start(&owner, CALL_TIMEOUT_OWNER);
    pass(60 * SECOND_MS);
    cr_expect_eq(owner.n_ended, 0);
    calls_cancel(&calls, owner.handle);
    cr_expect_not(calls_is_pending(&calls, owner.handle));
    reply_to(owner.handle);
    calls_cancel(&calls, owner.handle);
    cr_expect_eq(owner.n_ended, 0);
    cr_expect_eq(message.n_freed, 1);
}

Test(calls, do_not_time_out_once_cancelled)
{
    struct owner owner = {0};

    start(&owner, CALL_TIMEOUT_SHORT);
    calls_cancel(&calls, owner.handle);
    pass(60 * SECOND_MS);
    cr_expect_eq(owner.n_ended, 0);
}

Test(calls, never_take_a_reply_for_that_of_a_newer_call)
{
    struct owner older = {0}, newer = {0};

    for (int i = 0; i < 100; i++) {
        start(&older, CALL_TIMEOUT_SHORT);
        calls_cancel(&calls, older.handle);
        start(&newer, CALL_TIMEOUT_SHORT);
        cr_expect_neq(newer.handle, older.handle);
        reply_to(older.handle);
        calls_on_reply(&calls, older.handle, BUS_NO_RESPONDERS, NULL);
        calls_cancel(&calls, older.handle);
        cr_expect(calls_is_pending(&calls, newer.handle));
        cr_expect_eq(newer.n_ended, i);
        reply_to(newer.handle);
        cr_expect_eq(newer.n_ended, i + 1);
    }
}

Test(calls, take_nothing_for_what_was_never_started)
{
    const uint64_t handles[] = {0, 1, CALLS - 1, CALLS, 0xffff, 1 << 16, UINT64_MAX};
    struct owner owner = {0};

    for (size_t i = 0; i < ARRAY_SIZE(handles); i++) {
        cr_expect_not(calls_is_pending(&calls, handles[i]));
        calls_cancel(&calls, handles[i]);
        reply_to(handles[i]);
        cr_expect_eq(message.n_freed, i + 1);
    }
    start(&owner, CALL_TIMEOUT_SHORT);
    cr_expect_eq(owner.n_ended, 0);
}

/* The new call takes the entry of the cancelled one, which calls_lose_all() has not reached yet. */
Test(calls, are_all_lost_with_the_link_but_those_started_since)
{
    struct owner owners[CALLS] = {0};

    for (int i = 0; i < CALLS; i++)
        start(&owners[i], CALL_TIMEOUT_OWNER);
    owners[0].cancels = owners[CALLS - 1].handle;
    owners[0].starts_again = true;
    calls_lose_all(&calls);
    for (int i = 0; i < CALLS - 1; i++) {
        cr_expect_eq(owners[i].n_ended, 1);
        cr_expect_eq(owners[i].end, CALL_LOST);
    }
    cr_expect_eq(owners[CALLS - 1].n_ended, 0);
    cr_expect(calls_is_pending(&calls, owners[0].handle));
    reply_to(owners[0].handle);
    cr_expect_eq(owners[0].n_ended, 2);
    cr_expect_eq(owners[0].end, CALL_REPLIED);
}

/* -- within a callback ----------------------------------------------------------------------- */

Test(calls, can_be_cancelled_within_a_callback)
{
    struct owner owner = {0}, other = {0};

    start(&owner, CALL_TIMEOUT_SHORT);
    owner.cancels = owner.handle; /* has ended by then */
    reply_to(owner.handle);
    cr_expect_eq(owner.n_ended, 1);
    start(&owner, CALL_TIMEOUT_SHORT);
    start(&other, CALL_TIMEOUT_SHORT);
    owner.cancels = other.handle;
    calls_lose_all(&calls);
    cr_expect_eq(owner.n_ended, 2);
    cr_expect_eq(other.n_ended, 0, "though both would have been lost");
}

Test(calls, can_be_started_within_a_callback_though_the_table_was_full)
{
    struct owner owners[CALLS] = {0};

    for (int i = 0; i < CALLS; i++)
        start(&owners[i], CALL_TIMEOUT_SHORT);
    owners[0].starts_again = true;
    reply_to(owners[0].handle);
    cr_expect(calls_is_pending(&calls, owners[0].handle));
    reply_to(owners[0].handle);
    cr_expect_eq(owners[0].n_ended, 2);
}

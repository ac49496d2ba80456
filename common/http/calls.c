#include "common/http/calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/edge_metrics.h"
#include "proto/headers.h"
#include "proto/subject.h"

/* -- the heartbeat --------------------------------------------------------------------------- */

void heartbeat_init(struct heartbeat *heartbeat, unsigned timeout_ms)
{
    *heartbeat = (struct heartbeat){.timeout_ticks = timeout_ms / HEARTBEAT_MS};
}

bool heartbeat_tick(struct heartbeat *heartbeat)
{
    if (heartbeat->awaited) {
        heartbeat->missed++;
        if (heartbeat->missed % HEARTBEAT_RESEND_TICKS != 0)
            return false;
    } else {
        heartbeat->awaited = true;
        heartbeat->missed = 0;
    }
    heartbeat->n_sent++;
    return true;
}

uint64_t heartbeat_handle(const struct heartbeat *heartbeat)
{
    return heartbeat->n_sent << CALL_INDEX_BITS | CALLS_TABLE_MAX;
}

bool heartbeat_has_handle(uint64_t handle)
{
    return (handle & CALLS_TABLE_MAX) == CALLS_TABLE_MAX;
}

bool heartbeat_is_awaited(const struct heartbeat *heartbeat, uint64_t handle)
{
    return heartbeat->awaited && handle == heartbeat_handle(heartbeat);
}

static void begin(struct heartbeat *heartbeat, bool has_answered)
{
    heartbeat->has_answered = has_answered;
    heartbeat->awaited = false;
    heartbeat->missed = 0;
}

void heartbeat_received(struct heartbeat *heartbeat)
{
    begin(heartbeat, true);
}

void heartbeat_not_sent(struct heartbeat *heartbeat)
{
    heartbeat->n_sent--;
    if (heartbeat->missed < heartbeat->timeout_ticks)
        begin(heartbeat, heartbeat->has_answered);
}

void heartbeat_reset(struct heartbeat *heartbeat)
{
    begin(heartbeat, false);
}

bool heartbeat_is_silent(const struct heartbeat *heartbeat)
{
    return !heartbeat->has_answered || heartbeat->missed >= heartbeat->timeout_ticks;
}

bool heartbeat_is_given_up(const struct heartbeat *heartbeat)
{
    return heartbeat->missed >= heartbeat->timeout_ticks + HEARTBEAT_GRACE_TICKS;
}

/* -- the table and its handles --------------------------------------------------------------- */

struct call {
    uint64_t generation;
    uint32_t next_free;
    bool is_open;
    unsigned link; /* calls->link when it was started */
    struct calls *calls;
    call_fn on_end;
    void *owner;
    struct timer timer;
};

static uint64_t handle_of(const struct call *call)
{
    return call->generation << CALL_INDEX_BITS | (uint64_t)(call - call->calls->at);
}

/* NULL: it has ended, or never existed. */
static struct call *find(const struct calls *calls, uint64_t handle)
{
    const uint64_t index = handle & CALLS_TABLE_MAX;
    struct call *call;

    if (index >= calls->max)
        return NULL;
    call = &calls->at[index];
    return call->is_open && call->generation == handle >> CALL_INDEX_BITS ? call : NULL;
}

/* NULL: the table is full. */
static struct call *open_call(struct calls *calls)
{
    struct call *call;

    if (calls->first_free == calls->max)
        return NULL;
    call = &calls->at[calls->first_free];
    calls->first_free = call->next_free;
    call->is_open = true;
    return call;
}

static void close_call(struct call *call)
{
    struct calls *calls = call->calls;

    timer_stop(&call->timer);
    call->is_open = false;
    call->generation++;
    call->next_free = calls->first_free;
    calls->first_free = (uint32_t)(call - calls->at);
}

void calls_init(struct calls *calls, struct timers *timers, struct bus *bus,
                const struct heartbeat *heartbeat, size_t max, int64_t max_ms)
{
    *calls = (struct calls){.timers = timers, .bus = bus, .heartbeat = heartbeat};
    calls->short_ms = CALL_SHORT_MS < max_ms ? CALL_SHORT_MS : max_ms;
    must(max > 0 && max <= CALLS_TABLE_MAX);
    calls->max = max;
    calls->at = heap_zeroed(max, sizeof(*calls->at));
    for (uint32_t i = 0; i < max; i++)
        calls->at[i] = (struct call){.next_free = i + 1, .calls = calls};
}

void calls_release(struct calls *calls)
{
    for (size_t i = 0; i < calls->max; i++)
        timer_stop(&calls->at[i].timer);
    free(calls->at);
    *calls = (struct calls){.max = 0};
}

bool calls_can_start(const struct calls *calls)
{
    return bus_is_up(calls->bus) && !heartbeat_is_silent(calls->heartbeat);
}

bool calls_may_wait(const struct calls *calls)
{
    return bus_is_up(calls->bus) && heartbeat_is_silent(calls->heartbeat) &&
           !heartbeat_is_given_up(calls->heartbeat);
}

/* -- beginning and ending -------------------------------------------------------------------- */

/* on_end may start other calls, even in the same entry. */
static void end(struct call *call, enum call_end how, struct bus_message *message)
{
    const call_fn on_end = call->on_end;
    void *const owner = call->owner;

    close_call(call);
    on_end(owner, how, message);
}

static void on_timeout(struct timer *timer)
{
    end(H2O_STRUCT_FROM_MEMBER(struct call, timer, timer), CALL_LATE, NULL);
}

static int64_t timeout_us(const struct calls *calls, const struct call_request *request)
{
    return request->timeout == CALL_TIMEOUT_OWNER ? request->until_us - clock_mono_us()
                                                  : calls->short_ms * 1000;
}

/* By the clock of the process that is to observe it, in Unix milliseconds. */
static int64_t deadline_ms(const struct calls *calls, const struct call_request *request)
{
    static const char access[] = "v1.access.";
    const int64_t ours_ms = (clock_us() + timeout_us(calls, request)) / 1000;

    return strncmp(request->subject, access, strlen(access)) == 0 ? ours_ms - calls->access_skew_ms
                                                                  : ours_ms;
}

void call_headers_add(struct call_headers *headers, const char *name, const char *value)
{
    must(headers->n < CALL_HEADERS_MAX);
    headers->at[headers->n++] = (struct bus_header){name, value};
}

enum status calls_start(struct calls *calls, const struct call_request *request, uint64_t *handle)
{
    struct call_headers headers = request->headers;
    char deadline[24], in_cell[CELL_SUBJECT_CAPACITY];
    const char *subject;
    struct call *call;
    enum status st;

    if (!calls_can_start(calls) || (call = open_call(calls)) == NULL)
        return ST_UNAVAILABLE;
    snprintf(deadline, sizeof(deadline), "%" PRId64, deadline_ms(calls, request));
    call_headers_add(&headers, HEADER_DEADLINE, deadline);
    *handle = handle_of(call);
    subject = subject_in_cell(request->subject, request->cell, in_cell);
    st = bus_request(calls->bus, subject, *handle, headers.at, headers.n, request->body);
    if (st != ST_OK) {
        close_call(call);
        return st;
    }
    calls->n_started++;
    call->link = calls->link;
    call->on_end = request->on_end;
    call->owner = request->owner;
    if (request->timeout != CALL_TIMEOUT_OWNER)
        timer_start(calls->timers, &call->timer, calls->short_ms + CALL_GRACE_MS, on_timeout);
    return ST_OK;
}

void calls_cancel(struct calls *calls, uint64_t handle)
{
    struct call *call = find(calls, handle);

    if (call != NULL)
        close_call(call);
}

void calls_on_reply(struct calls *calls, uint64_t handle, enum bus_reply_kind kind,
                    struct bus_message *message)
{
    struct call *call = find(calls, handle);

    if (call != NULL) {
        end(call, kind == BUS_REPLY ? CALL_REPLIED : CALL_NOBODY, message);
        return;
    }
    if (kind == BUS_REPLY)
        metric_add(edge_metrics.late_replies, 1);
    bus_message_free(message);
}

void calls_lose_all(struct calls *calls)
{
    /* A call that a callback starts has the new number, and is not lost with the others. */
    calls->link++;
    for (size_t i = 0; i < calls->max; i++) {
        struct call *call = &calls->at[i];

        if (call->is_open && call->link != calls->link)
            end(call, CALL_LOST, NULL);
    }
}

bool calls_is_pending(const struct calls *calls, uint64_t handle)
{
    return find(calls, handle) != NULL;
}

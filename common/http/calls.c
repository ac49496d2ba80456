#include "common/http/calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/http/edge_metrics.h"
#include "proto/headers.h"

struct call {
    struct calls *calls;
    uint64_t handle;
    call_fn on_end;
    void *owner;
    h2o_timeout_entry_t timer;
};

void calls_init(struct calls *calls, h2o_loop_t *loop, struct bus *bus,
                const struct heartbeat *heartbeat, size_t max, int64_t max_ms)
{
    *calls = (struct calls){.loop = loop, .bus = bus, .heartbeat = heartbeat};
    calls->short_ms = CALL_SHORT_MS < max_ms ? CALL_SHORT_MS : max_ms;
    h2o_timeout_init(loop, &calls->timeout, (uint64_t)(calls->short_ms + CALL_GRACE_MS));
    handles_init(&calls->handles, max);
    calls->at = calloc(max, sizeof(*calls->at));
    must(calls->at != NULL);
}

void calls_release(struct calls *calls)
{
    h2o_timeout_dispose(calls->loop, &calls->timeout);
    handles_release(&calls->handles);
    free(calls->at);
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

static void end(struct calls *calls, uint64_t handle, enum call_end how,
                struct bus_message *message)
{
    struct call *call;

    if (!handles_close(&calls->handles, handle)) {
        metric_add(edge_metrics.late_replies, 1);
        bus_message_free(message);
        return;
    }
    call = &calls->at[handles_index(handle)];
    h2o_timeout_unlink(&call->timer);
    call->on_end(call->owner, how, message);
}

static void on_timeout(h2o_timeout_entry_t *timer)
{
    struct call *call = H2O_STRUCT_FROM_MEMBER(struct call, timer, timer);

    end(call->calls, call->handle, CALL_LATE, NULL);
}

static int64_t timeout_us(const struct calls *calls, const struct call_request *request)
{
    return request->timeout == CALL_TIMEOUT_OWNER ? request->until_us - clock_mono_us()
                                                  : calls->short_ms * 1000;
}

void call_headers_add(struct call_headers *headers, const char *name, const char *value)
{
    must(headers->n < CALL_HEADERS_MAX);
    headers->at[headers->n++] = (struct bus_header){name, value};
}

enum status calls_start(struct calls *calls, const struct call_request *request, uint64_t *handle)
{
    struct call_headers headers = request->headers;
    char deadline[24];
    struct call *call;
    enum status st;

    if (!calls_can_start(calls) || !handles_open(&calls->handles, handle))
        return ST_UNAVAILABLE;
    snprintf(deadline, sizeof(deadline), "%" PRId64,
             (clock_us() + timeout_us(calls, request)) / 1000);
    call_headers_add(&headers, HEADER_DEADLINE, deadline);
    st = bus_request(calls->bus, request->subject, *handle, headers.at, headers.n, request->body);
    if (st != ST_OK) {
        (void)handles_close(&calls->handles, *handle);
        return st;
    }
    call = &calls->at[handles_index(*handle)];
    *call = (struct call){.calls = calls,
                          .handle = *handle,
                          .on_end = request->on_end,
                          .owner = request->owner,
                          .timer = {.cb = on_timeout}};
    if (request->timeout != CALL_TIMEOUT_OWNER)
        h2o_timeout_link(calls->loop, &calls->timeout, &call->timer);
    return ST_OK;
}

void calls_cancel(struct calls *calls, uint64_t handle)
{
    if (handles_close(&calls->handles, handle))
        h2o_timeout_unlink(&calls->at[handles_index(handle)].timer);
}

void calls_on_reply(struct calls *calls, uint64_t handle, enum bus_reply_kind kind,
                    struct bus_message *message)
{
    end(calls, handle, kind == BUS_REPLY ? CALL_REPLIED : CALL_NOBODY, message);
}

void calls_lose_all(struct calls *calls)
{
    size_t n = calls->handles.used;
    uint64_t *handles = calloc(n + 1, sizeof(*handles));

    /* Listed first: calls started by a callback are not lost with the others. */
    must(handles != NULL);
    handles_list(&calls->handles, handles);
    for (size_t i = 0; i < n; i++)
        end(calls, handles[i], CALL_LOST, NULL);
    free(handles);
}

struct handle_entry {
    uint64_t generation;
    uint32_t next_free;
    bool in_use;
};

void handles_init(struct handles *handles, size_t n)
{
    must(n > 0 && n <= HANDLES_MAX);
    *handles = (struct handles){.at = calloc(n, sizeof(struct handle_entry)), .n = n};
    must(handles->at != NULL);
    for (uint32_t i = 0; i < n; i++)
        handles->at[i].next_free = i + 1;
}

void handles_release(struct handles *handles)
{
    free(handles->at);
    handles->at = NULL;
}

static uint64_t handle_of(const struct handles *handles, size_t index)
{
    return handles->at[index].generation << 16 | index;
}

size_t handles_index(uint64_t handle)
{
    return handle & 0xffff;
}

bool handles_open(struct handles *handles, uint64_t *handle)
{
    struct handle_entry *entry;

    if (handles->free_first == handles->n)
        return false;
    entry = &handles->at[handles->free_first];
    *handle = handle_of(handles, handles->free_first);
    handles->free_first = entry->next_free;
    entry->in_use = true;
    handles->used++;
    return true;
}

bool handles_close(struct handles *handles, uint64_t handle)
{
    size_t index = handles_index(handle);
    struct handle_entry *entry;

    if (index >= handles->n || !handles->at[index].in_use || handle_of(handles, index) != handle)
        return false;
    entry = &handles->at[index];
    entry->in_use = false;
    entry->generation++;
    entry->next_free = handles->free_first;
    handles->free_first = (uint32_t)index;
    handles->used--;
    return true;
}

void handles_list(const struct handles *handles, uint64_t *open)
{
    for (size_t i = 0; i < handles->n; i++)
        if (handles->at[i].in_use)
            *open++ = handle_of(handles, i);
}

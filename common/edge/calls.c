#include "common/edge/calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/edge/edge_meter.h"
#include "proto/headers.h"

struct call {
    struct calls *calls;
    uint64_t token;
    call_fn on_end;
    void *owner;
    h2o_timeout_entry_t timer;
};

void calls_init(struct calls *calls, h2o_loop_t *loop, struct bus *bus, const struct pulse *pulse,
                size_t most, int64_t long_ms)
{
    *calls = (struct calls){.loop = loop, .bus = bus, .pulse = pulse};
    calls->patience_ms[PATIENCE_LONG] = long_ms;
    calls->patience_ms[PATIENCE_SHORT] = CALL_SHORT_MS < long_ms ? CALL_SHORT_MS : long_ms;
    for (int i = 0; i < PATIENCE_COUNT; i++)
        h2o_timeout_init(loop, &calls->timeouts[i],
                         (uint64_t)(calls->patience_ms[i] + CALL_GRACE_MS));
    slots_init(&calls->slots, most);
    calls->at = calloc(most, sizeof(*calls->at));
    must(calls->at != NULL);
}

void calls_release(struct calls *calls)
{
    for (int i = 0; i < PATIENCE_COUNT; i++)
        h2o_timeout_dispose(calls->loop, &calls->timeouts[i]);
    slots_release(&calls->slots);
    free(calls->at);
}

bool calls_can_start(const struct calls *calls)
{
    return bus_is_up(calls->bus) && !pulse_is_silent(calls->pulse);
}

bool calls_may_wait(const struct calls *calls)
{
    return bus_is_up(calls->bus) && pulse_is_silent(calls->pulse) &&
           !pulse_is_given_up(calls->pulse);
}

static void end(struct calls *calls, uint64_t token, enum call_end how, struct bus_message *message)
{
    struct call *call;

    if (!slots_give_back(&calls->slots, token)) {
        metric_add(edge_meter.late_replies, 1);
        bus_message_free(message);
        return;
    }
    call = &calls->at[slots_place(token)];
    h2o_timeout_unlink(&call->timer);
    call->on_end(call->owner, how, message);
}

static void on_timeout(h2o_timeout_entry_t *timer)
{
    struct call *call = H2O_STRUCT_FROM_MEMBER(struct call, timer, timer);

    end(call->calls, call->token, CALL_LATE, NULL);
}

enum status calls_start(struct calls *calls, struct call_request *request, uint64_t *token)
{
    char deadline[24];
    struct call *call;
    enum status st;

    must(request->n_headers < CALL_HEADERS_MOST);
    if (!calls_can_start(calls) || !slots_take(&calls->slots, token))
        return ST_UNAVAILABLE;
    snprintf(deadline, sizeof(deadline), "%" PRId64,
             clock_us() / 1000 + calls->patience_ms[request->patience]);
    request->headers[request->n_headers] = (struct bus_header){HEADER_DEADLINE, deadline};
    st = bus_request(calls->bus, request->subject, *token, request->headers, request->n_headers + 1,
                     request->body);
    if (st != ST_OK) {
        (void)slots_give_back(&calls->slots, *token);
        return st;
    }
    call = &calls->at[slots_place(*token)];
    *call = (struct call){.calls = calls,
                          .token = *token,
                          .on_end = request->on_end,
                          .owner = request->owner,
                          .timer = {.cb = on_timeout}};
    h2o_timeout_link(calls->loop, &calls->timeouts[request->patience], &call->timer);
    return ST_OK;
}

void calls_cancel(struct calls *calls, uint64_t token)
{
    if (slots_give_back(&calls->slots, token))
        h2o_timeout_unlink(&calls->at[slots_place(token)].timer);
}

void calls_answer(struct calls *calls, uint64_t token, enum bus_reply_kind kind,
                  struct bus_message *message)
{
    end(calls, token, kind == BUS_REPLY ? CALL_ANSWERED : CALL_NOBODY, message);
}

void calls_lose_all(struct calls *calls)
{
    size_t n = calls->slots.used;
    uint64_t *tokens = calloc(n + 1, sizeof(*tokens));

    /* Listed first: what an end starts anew is not lost with the others. */
    must(tokens != NULL);
    slots_list(&calls->slots, tokens);
    for (size_t i = 0; i < n; i++)
        end(calls, tokens[i], CALL_LOST, NULL);
    free(tokens);
}

#include "common/actor/command_reply.h"

#include "common/actor/actor_internal.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "proto/headers.h"
#include "proto/subject.h"

enum {
    LARGE_REPLY = 1024 * 1024, /* sent at once, without waiting for the replies after it */
    /* How many bytes cost a unit: a body that is written is read, merged, compressed, logged and
       answered; a reply is built and sent. */
    BODY_BYTES_A_UNIT = 512,
    REPLY_BYTES_A_UNIT = 8192,
    /* How long a command that loses races or finds its rows locked is retried. */
    RACE_US = 500 * 1000,
    TRY_STEP_US = 1000, /* by which the pause between two tries grows */
    TRY_MAX_US = 50 * 1000,
    NEAR_US = 100 * 1000, /* no retry this close to the deadline */
};

/* -- replies --------------------------------------------------------------------------------- */

/* The audit log needs an entry, and this service has no audit sink to write it. */
static bool is_unrecorded(const struct actor *actor, const struct command_handler *handler)
{
    return actor->service->audit_sink == NULL && handler->operation != OP_NONE;
}

struct headers {
    struct bus_header at[5];
    size_t n;
};

static void add(struct headers *headers, const char *name, const char *value)
{
    headers->at[headers->n++] = (struct bus_header){name, value};
}

static const char *id_text(struct arena *arena, const struct uuid *id)
{
    char *text = arena_alloc(arena, UUID_TEXT + 1);

    uuid_format(id, text);
    return text;
}

static struct headers headers_of(const struct actor *actor, const struct command *command)
{
    struct arena *arena = command->arena;
    struct headers headers = {.n = 0};

    add(&headers, HEADER_OUTCOME, outcome_name(command->outcome));
    if (command->outcome == OUTCOME_CREATED)
        add(&headers, HEADER_RESOURCE, id_text(arena, &command->conversation_id));
    if (is_unrecorded(actor, command->handler)) {
        add(&headers, HEADER_RECORDED, "no");
        if (!uuid_is_nil(&command->contact_id))
            add(&headers, HEADER_CONTACT, id_text(arena, &command->contact_id));
    }
    if (command->is_recorded_already)
        add(&headers, HEADER_RECORDED, "already");
    if (command->retry_after_s > 0)
        add(&headers, HEADER_RETRY_AFTER, arena_printf(arena, "%u", command->retry_after_s));
    return headers;
}

static void publish(struct actor *actor, const struct waiting *waiting,
                    const struct headers *headers, struct str body)
{
    struct bus_message *const message = waiting->message;
    const enum status st = bus_reply(actor->bus, message, headers->at, headers->n, body);

    if (st == ST_OK && body.n > LARGE_REPLY)
        bus_push(actor->bus);
    if (st == ST_OK)
        return;
    /* The caller will time out and report the outcome as uncertain, as it should. */
    metric_add(actor->metrics->lost_replies, 1);
    LOG(LOG_WARNING, "could not send a reply", log_str("status", status_name(st)),
        log_int("bytes", (int64_t)body.n),
        log_slice("request_id", bus_message_header(message, HEADER_REQUEST_ID)),
        log_trace(bus_message_header(message, HEADER_TRACEPARENT)));
}

static void publish_notice(struct batch *batch, const struct command *command)
{
    struct actor *actor = batch->actor;
    char organization[UUID_TEXT + 1];
    const struct bus_header header = {HEADER_ORGANIZATION, organization};
    const struct uuid *whose = &command->caller.organization_id;
    char subject[CELL_SUBJECT_CAPACITY];
    enum status st;

    if (command->notice == NULL ||
        (command->notice == batch->noticed && uuid_equal(whose, &batch->noticed_for)))
        return;
    uuid_format(whose, organization);
    st = bus_publish(actor->bus, subject_in_cell(command->notice, actor->cell, subject), NULL,
                     &header, 1, STR(""));
    if (st != ST_OK)
        LOG(LOG_WARNING, "notice not sent; the receiver polls anyway",
            log_str("subject", command->notice));
    batch->noticed = command->notice;
    batch->noticed_for = *whose;
}

static void count(const struct actor *actor, const struct batch_item *item, int64_t took_us)
{
    const struct route_metrics *metrics = item->waiting->metrics;
    const struct command *command = &item->command;

    metric_add(metrics->outcomes[command->outcome], 1);
    metric_observe(metrics->seconds, took_us);
    if (command->outcome == OUTCOME_UNCERTAIN)
        metric_add(actor->metrics->uncertain, 1);
}

static void end_span(struct batch_item *item, const char *outcome, bool has_failed, int64_t took_us)
{
    const struct command *command = &item->command;
    struct span *span = &item->span;

    if (!span->context.is_sampled)
        return;
    span->name = command->handler->subject;
    span->start_us = command->received_us;
    span->end_us = command->received_us + took_us;
    span->outcome = outcome;
    span->has_failed = has_failed;
    span->request_id = command->caller.request_id;
    span->organization_id = command->caller.organization_id;
    span_end(span);
}

void command_reply(struct batch *batch, struct batch_item *item)
{
    struct actor *actor = batch->actor;
    struct command *command = &item->command;
    const struct headers headers = headers_of(actor, command);
    bool is_success = outcome_code(command->outcome) == NULL;
    int64_t took_us = clock_mono_us() - item->waiting->since_us;

    if (!is_success) {
        buf_init(&command->reply, command->arena, 256);
        errors_write(&command->errors, &command->reply);
    }
    publish(actor, item->waiting, &headers, buf_str(&command->reply));
    publish_notice(batch, command);
    count(actor, item, took_us);
    LOG(outcome_http_status(command->outcome) >= 500 ? LOG_WARNING : LOG_DEBUG, "command",
        log_str("route", command->handler->subject), log_slice("request_id", item->request_id),
        log_trace(command->traceparent), log_str("outcome", outcome_name(command->outcome)),
        log_int("took_us", took_us));
    end_span(item, outcome_name(command->outcome), outcome_http_status(command->outcome) >= 500,
             took_us);
    command_end(batch, item);
}

void command_reply_failed(struct batch *batch, struct batch_item *item, enum outcome outcome)
{
    command_fail(&item->command, outcome);
    command_reply(batch, item);
}

static void reply_busy(struct actor *actor, const struct waiting *waiting)
{
    struct headers headers = {.n = 0};

    add(&headers, HEADER_OUTCOME, outcome_name(OUTCOME_BUSY));
    publish(actor, waiting, &headers,
            STR("[{\"code\":\"service_unavailable\",\"message\":\"The service is busy; nothing was "
                "done\"}]"));
}

/* The caller may still be waiting, and learns that nothing was done. */
void command_expire(struct batch *batch, struct batch_item *item)
{
    end_span(item, "expired", true, clock_mono_us() - item->waiting->since_us);
    LOG(LOG_DEBUG, "deadline passed; command not run",
        log_str("route", item->command.handler->subject), log_slice("request_id", item->request_id),
        log_trace(item->command.traceparent));
    metric_add(batch->actor->metrics->expired, 1);
    reply_busy(batch->actor, item->waiting);
    command_end(batch, item);
}

void command_reject_message(struct actor *actor, const struct waiting *waiting)
{
    metric_add(actor->metrics->busy, 1);
    reply_busy(actor, waiting);
    bus_message_free(waiting->message);
}

/* -- cost, and the slow lane ------------------------------------------------------------------- */

/* The slow lane counts its tries from zero. */
void command_hand_over(struct actor *actor, const struct uuid *organization, struct waiting waiting)
{
    waiting.n_tries = 0;
    if (!slow_lane_put(actor->slow_lane, organization, &waiting))
        command_reject_message(actor, &waiting);
}

/* The item's own cost and that of the transactions that failed because of it. An item that was not
   begun has only the latter. */
static uint32_t cost_of(const struct batch_item *item)
{
    const struct command *const command = &item->command;
    size_t units = command->cost + (size_t)(item->waiting->spent_us / FAIR_UNIT_US);

    if (command->cost > 0) {
        units += command->reply.n / REPLY_BYTES_A_UNIT;
        if (command->handler->writes)
            units += command->body.n / BODY_BYTES_A_UNIT;
    }
    return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

/* Moves the waiting commands of an organization that has just become slow to the slow lane, up to a
   plain message, which only this actor can answer. */
static void hand_over_all(struct actor *actor, struct flow *flow)
{
    while (flow->n > 0 && !bus_message_is_plain(flow_first(flow)->message))
        command_hand_over(actor, &flow->organization, fair_queue_remove(&actor->queue, flow));
}

void command_end(struct batch *batch, struct batch_item *item)
{
    struct actor *const actor = batch->actor;
    struct flow *const flow = item->waiting->flow;
    const int64_t now_us = clock_mono_us();
    const uint32_t cost = cost_of(item);

    bus_message_free(item->waiting->message);
    fair_queue_end(&actor->queue, item->waiting, cost, item->command.reply.n, now_us);
    batch->replied_bytes += item->command.reply.n;
    if (actor->slow_lane != NULL &&
        slow_lane_charge(actor->slow_lane, &flow->organization, cost, now_us) &&
        !actor->is_slow_lane)
        hand_over_all(actor, flow);
}

/* -- another try ------------------------------------------------------------------------------- */

/* The first retry is with the next batch, and each later one waits a little longer: a command gets
   many tries for a row that others change all the time, and few for one that stays locked. */
static int64_t pause_us(unsigned n_tries)
{
    const int64_t pause_us = (int64_t)(n_tries - 1) * TRY_STEP_US;

    return pause_us < TRY_MAX_US ? pause_us : TRY_MAX_US;
}

void command_defer(struct batch *batch, struct batch_item *item)
{
    struct actor *actor = batch->actor;
    struct waiting *waiting = item->waiting;
    int64_t now_us = clock_mono_us();

    if (waiting->n_tries++ == 0)
        waiting->lost_us = now_us;
    waiting->due_us = now_us + pause_us(waiting->n_tries);
    waiting->spent_us += FAIR_UNIT_US;
    if (waiting->due_us - waiting->lost_us < RACE_US &&
        item->command.deadline_us - clock_us() > NEAR_US &&
        fair_queue_put_back(&actor->queue, waiting)) {
        metric_add(actor->metrics->deferred, 1);
        return;
    }
    metric_add(actor->metrics->lock_refusals, 1);
    command_reply_failed(batch, item, OUTCOME_UNAVAILABLE);
}

/* Its results were dropped: the next batch takes it again. */
static void give_back(struct batch *batch, struct batch_item *item)
{
    fair_queue_expect(item->waiting, item->dropped);
    fair_queue_give_back(&batch->actor->queue, item->waiting);
    metric_add(batch->actor->metrics->deferred, 1);
}

/* -- several ----------------------------------------------------------------------------------- */

size_t commands_keep_unexpired(struct batch *batch, struct batch_item **items, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (command_is_expired(&items[i]->command))
            command_expire(batch, items[i]);
        else
            items[kept++] = items[i];
    return kept;
}

void commands_settle(struct batch *batch, struct batch_item **items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (items[i]->dropped > 0)
            give_back(batch, items[i]);
        else if (items[i]->status == ST_RETRY)
            command_defer(batch, items[i]);
        else
            command_reply(batch, items[i]);
    bus_push(batch->actor->bus);
}

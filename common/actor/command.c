#include "common/actor/command.h"

#include <stdarg.h>

#include "common/actor/actor_internal.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/json/json.h"
#include "proto/headers.h"
#include "proto/subject.h"

enum status command_refuse(struct command *command, enum outcome outcome, const char *field,
                           const char *message, ...)
{
    va_list args;
    char *text;

    va_start(args, message);
    text = arena_vprintf(command->arena, message, args);
    va_end(args);
    errors_add(&command->errors, outcome_code(outcome), field, "%s", text);
    return command_refuse_all(command, outcome);
}

void command_note(struct command *command, const char *name, struct str value)
{
    struct buf *detail = &command->change_detail;

    if (value.p == NULL)
        return;
    if (detail->n == 0) {
        buf_init(detail, command->arena, 128);
        buf_char(detail, '{');
    }
    json_add_key(detail, name);
    json_add_string(detail, value);
}

enum status command_refuse_all(struct command *command, enum outcome outcome)
{
    command->outcome = outcome;
    return ST_REFUSED;
}

static bool read_input(struct command *command)
{
    const struct command_handler *handler = command->handler;
    const bool is_empty = handler->may_be_empty && command->body.n == 0;

    must(handler->input_size > 0);
    command->input = arena_alloc(command->arena, handler->input_size);
    return fields_read_body(is_empty ? STR("{}") : command->body, handler->fields, command->input,
                            &command->errors);
}

enum status command_parse(struct command *command, void *service)
{
    const struct command_handler *handler = command->handler;

    if (handler->has_secrets)
        command->arena->wipes = true;
    if (handler->needs_organization && uuid_is_nil(&command->caller.organization_id))
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, HEADER_ORGANIZATION,
                              "is required");
    if (handler->fields != NULL && !read_input(command))
        return command_refuse_all(command, fields_outcome(&command->errors));
    return handler->parse != NULL ? handler->parse(command, service) : ST_OK;
}

enum {
    LARGE_REPLY = 1024 * 1024, /* sent at once, without waiting for the replies after it */
    /* How many bytes cost a unit: a body that is written is read, merged, compressed, logged and
       answered; a reply is built and sent. */
    BODY_BYTES_A_UNIT = 512,
    REPLY_BYTES_A_UNIT = 8192,
};

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

static struct headers headers_of(struct actor *actor, const struct command *command)
{
    struct headers headers = {.n = 0};

    add(&headers, HEADER_OUTCOME, outcome_name(command->outcome));
    if (command->outcome == OUTCOME_CREATED)
        add(&headers, HEADER_RESOURCE, id_text(&actor->batch->arena, &command->conversation_id));
    if (is_unrecorded(actor, command->handler)) {
        add(&headers, HEADER_RECORDED, "no");
        if (!uuid_is_nil(&command->contact_id))
            add(&headers, HEADER_CONTACT, id_text(&actor->batch->arena, &command->contact_id));
    }
    if (command->is_recorded_already)
        add(&headers, HEADER_RECORDED, "already");
    if (command->retry_after_s > 0)
        add(&headers, HEADER_RETRY_AFTER,
            arena_printf(&actor->batch->arena, "%u", command->retry_after_s));
    return headers;
}

static void publish(struct actor *actor, const struct waiting *waiting,
                    const struct headers *headers, struct str body)
{
    struct bus_message *const message = waiting->message;
    enum status st;

    if (waiting->reply_queue != NULL) {
        struct slow_reply reply = {bus_reply_new(message, headers->at, headers->n, body), {{0}}};

        (void)uuid_parse(bus_message_header(message, HEADER_REQUEST_ID), &reply.request_id);
        reply_queue_put(waiting->reply_queue, reply);
        return;
    }
    st = bus_reply(actor->bus, message, headers->at, headers->n, body);
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

static void publish_notice(struct actor *actor, const struct command *command)
{
    char organization[UUID_TEXT + 1];
    const struct bus_header header = {HEADER_ORGANIZATION, organization};
    const struct uuid *whose = &command->caller.organization_id;
    char subject[CELL_SUBJECT_CAPACITY];
    enum status st;

    if (command->notice == NULL ||
        (command->notice == actor->noticed && uuid_equal(whose, &actor->noticed_for)))
        return;
    uuid_format(whose, organization);
    st = bus_publish(actor->bus, subject_in_cell(command->notice, actor->options.cell, subject),
                     NULL, &header, 1, STR(""));
    if (st != ST_OK)
        LOG(LOG_WARNING, "notice not sent; the receiver polls anyway",
            log_str("subject", command->notice));
    actor->noticed = command->notice;
    actor->noticed_for = *whose;
}

static void count(struct actor *actor, const struct batch_item *item, int64_t took_us)
{
    const struct route_metrics *metrics = item->waiting.metrics;
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

void command_send_reply(struct actor *actor, struct batch_item *item)
{
    struct command *command = &item->command;
    const struct headers headers = headers_of(actor, command);
    bool is_success = outcome_code(command->outcome) == NULL;
    int64_t took_us = clock_mono_us() - item->waiting.since_us;

    if (!is_success) {
        buf_init(&command->reply, command->arena, 256);
        errors_write(&command->errors, &command->reply);
    }
    publish(actor, &item->waiting, &headers, buf_str(&command->reply));
    publish_notice(actor, command);
    count(actor, item, took_us);
    LOG(outcome_http_status(command->outcome) >= 500 ? LOG_WARNING : LOG_DEBUG, "command",
        log_str("route", command->handler->subject), log_slice("request_id", item->request_id),
        log_trace(item->command.traceparent), log_str("outcome", outcome_name(command->outcome)),
        log_int("took_us", took_us));
    end_span(item, outcome_name(command->outcome), outcome_http_status(command->outcome) >= 500,
             took_us);
    command_drop(actor, item);
}

/* The item's own cost and that of the transactions that failed because of it. An item that was not
   begun has only the latter. */
static uint32_t cost_of(const struct batch_item *item)
{
    const struct command *const command = &item->command;
    size_t units = command->cost + (size_t)(item->waiting.spent_us / FAIR_UNIT_US);

    if (command->cost > 0) {
        units += command->reply.n / REPLY_BYTES_A_UNIT;
        if (command->handler->writes)
            units += command->body.n / BODY_BYTES_A_UNIT;
    }
    return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

/* Moves the waiting commands of an organization that has just become slow to the slow lane. */
static void hand_over_all(struct actor *actor, struct flow *flow)
{
    struct waiting waiting;

    while (fair_queue_remove(&actor->queue, flow, &waiting))
        command_hand_over(actor, fair_queue_organization(flow), waiting);
}

void command_drop(struct actor *actor, struct batch_item *item)
{
    struct flow *const flow = item->waiting.flow;
    const int64_t now_us = clock_mono_us();
    const uint32_t cost = cost_of(item);

    fair_queue_charge(&actor->queue, flow, cost, item->command.reply.n, now_us);
    actor->replied_bytes += item->command.reply.n;
    bus_message_free(item->waiting.message);
    reply_queue_settle(item->waiting.reply_queue);
    if (actor->slow_lane != NULL &&
        slow_lane_charge(actor->slow_lane, fair_queue_organization(flow), cost, now_us) &&
        !actor->options.is_slow_lane)
        hand_over_all(actor, flow);
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
void command_expire(struct actor *actor, struct batch_item *item)
{
    metric_add(actor->metrics->expired, 1);
    end_span(item, "expired", true, clock_mono_us() - item->waiting.since_us);
    LOG(LOG_DEBUG, "deadline passed; command not run",
        log_str("route", item->command.handler->subject), log_slice("request_id", item->request_id),
        log_trace(item->command.traceparent));
    reply_busy(actor, &item->waiting);
    command_drop(actor, item);
}

void command_reject(struct actor *actor, struct batch_item *item)
{
    metric_add(actor->metrics->expired, 1);
    reply_busy(actor, &item->waiting);
    command_drop(actor, item);
}

void command_reject_message(struct actor *actor, const struct waiting *waiting)
{
    metric_add(actor->metrics->busy, 1);
    reply_busy(actor, waiting);
    bus_message_free(waiting->message);
    reply_queue_settle(waiting->reply_queue);
}

/* The slow lane counts its tries from zero. */
void command_hand_over(struct actor *actor, const struct uuid *organization, struct waiting waiting)
{
    waiting.n_tries = 0;
    waiting.reply_queue = actor->reply_queue;
    if (slow_lane_put(actor->slow_lane, organization, &waiting))
        return;
    waiting.reply_queue = NULL;
    command_reject_message(actor, &waiting);
}

/* Sends the next reply only when the socket has taken all of the one before. */
void command_send_slow_replies(struct actor *actor)
{
    struct slow_reply reply;
    char request_id[UUID_TEXT + 1];

    while (!actor->has_unsent && reply_queue_take(actor->reply_queue, &reply)) {
        const size_t n = bus_message_body(reply.message).n;
        const enum status st = bus_send(actor->bus, reply.message);

        if (st != ST_OK) {
            metric_add(actor->metrics->lost_replies, 1);
            uuid_format(&reply.request_id, request_id);
            LOG(LOG_WARNING, "could not send a reply", log_str("status", status_name(st)),
                log_int("bytes", (int64_t)n), log_str("request_id", request_id));
        }
        actor->has_unsent = !bus_flush(actor->bus);
    }
}

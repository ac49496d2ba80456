#include "common/actor/engine.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "proto/headers.h"

/* An entry of the trail is due, and this service has no ledger to write it in. */
static bool is_unrecorded(const struct actor *actor, const struct route *route)
{
    return actor->service->ledger == NULL && route != NULL && route->operation != OP_NONE;
}

struct headers {
    struct bus_header at[4];
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
    if (is_unrecorded(actor, command->route)) {
        add(&headers, HEADER_RECORDED, "no");
        if (!uuid_is_nil(&command->contact_id))
            add(&headers, HEADER_CONTACT, id_text(&actor->arena, &command->contact_id));
    }
    if (command->retry_after_s > 0)
        add(&headers, HEADER_RETRY_AFTER,
            arena_printf(&actor->arena, "%u", command->retry_after_s));
    return headers;
}

static void publish(struct actor *actor, struct bus_message *message, const struct headers *headers,
                    struct str body)
{
    struct str reply_to = bus_message_reply_to(message);
    enum status st;

    if (reply_to.p == NULL)
        return;
    st = bus_publish(actor->bus, arena_cstr(&actor->arena, reply_to), NULL, headers->at, headers->n,
                     body);
    if (st == ST_OK)
        return;
    /* The asker's time will run out, and it will call the outcome uncertain, as it should. */
    metric_add(actor->meters->lost_replies, 1);
    LOG(LOG_WARNING, "reply was not taken by the bus", log_str("status", status_name(st)),
        log_slice("request_id", bus_message_header(message, HEADER_REQUEST_ID)),
        log_trace(bus_message_header(message, HEADER_TRACEPARENT)));
}

static void ring_doorbell(struct actor *actor, const struct command *command)
{
    char organization[UUID_TEXT + 1];
    const struct bus_header header = {HEADER_ORGANIZATION, organization};
    const struct uuid *whose = &command->caller.organization_id;
    enum status st;

    if (command->doorbell == NULL ||
        (command->doorbell == actor->rung && uuid_equal(whose, &actor->rung_for)))
        return;
    uuid_format(whose, organization);
    st = bus_publish(actor->bus, command->doorbell, NULL, &header, 1, STR(""));
    if (st != ST_OK)
        LOG(LOG_WARNING, "doorbell was not rung; whoever listens will look by itself",
            log_str("subject", command->doorbell));
    actor->rung = command->doorbell;
    actor->rung_for = *whose;
}

static void count(struct actor *actor, const struct command *command, int64_t took_us)
{
    const struct route_meters *meters =
        &actor->route_meters[command->route - actor->service->routes];

    metric_add(meters->outcomes[command->outcome], 1);
    metric_observe(meters->seconds, took_us);
    if (command->outcome == OUTCOME_UNCERTAIN)
        metric_add(actor->meters->uncertain, 1);
}

static void end_span(struct work *work, const char *outcome, bool has_failed, int64_t took_us)
{
    const struct command *command = &work->command;
    struct span *span = &work->span;

    if (!span->context.is_sampled)
        return;
    span->name = command->route ? command->route->subject : "unknown";
    span->start_us = command->received_us;
    span->end_us = command->received_us + took_us;
    span->outcome = outcome;
    span->has_failed = has_failed;
    span->request_id = command->caller.request_id;
    span->organization_id = command->caller.organization_id;
    span_end(span);
}

void work_answer(struct actor *actor, struct work *work)
{
    struct command *command = &work->command;
    const struct headers headers = headers_of(actor, command);
    bool is_success = outcome_code(command->outcome) == NULL;
    int64_t took_us = clock_mono_us() - work->since_us;

    if (!is_success) {
        buf_init(&command->reply, command->arena, 256);
        problems_write(&command->problems, &command->reply);
    }
    publish(actor, command->message, &headers, buf_str(&command->reply));
    ring_doorbell(actor, command);
    if (command->route) {
        count(actor, command, took_us);
        LOG(outcome_http_status(command->outcome) >= 500 ? LOG_WARNING : LOG_DEBUG, "command",
            log_str("route", command->route->subject), log_slice("request_id", work->request_id),
            log_trace(work->command.traceparent),
            log_str("outcome", outcome_name(command->outcome)), log_int("took_us", took_us));
    }
    end_span(work, outcome_name(command->outcome), outcome_http_status(command->outcome) >= 500,
             took_us);
    work_drop(work);
}

void work_drop(struct work *work)
{
    bus_message_free(work->command.message);
    work->command.message = NULL;
}

void work_expire(struct actor *actor, struct work *work)
{
    metric_add(actor->meters->expired, 1);
    end_span(work, "expired", true, clock_mono_us() - work->since_us);
    LOG(LOG_DEBUG, "deadline has passed, not run", log_str("route", work->command.route->subject),
        log_slice("request_id", work->request_id), log_trace(work->command.traceparent));
    work_drop(work);
}

void turn_away(struct actor *actor, struct bus_message *message)
{
    struct headers headers = {.n = 0};

    add(&headers, HEADER_OUTCOME, outcome_name(OUTCOME_BUSY));
    publish(actor, message, &headers,
            STR("[{\"code\":\"service_unavailable\",\"message\":\"The service is busy; nothing was "
                "started\"}]"));
    bus_message_free(message);
}

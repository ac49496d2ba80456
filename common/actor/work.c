#include "common/actor/engine.h"
#include "common/base/address.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/text.h"
#include "proto/headers.h"

enum {
    PATIENCE_US = 5 * 1000 * 1000,       /* of a command without a deadline */
    PATIENCE_MOST_US = 60 * 1000 * 1000, /* nobody keeps us longer */
    EMAIL_MOST = 1024,                   /* bytes: 255 characters */
    REPLY_MOST = 8 * 1024 * 1024 - 4096, /* max_payload of the bus, less the headers */
};

static const struct route *find_route(const struct service *service, struct str subject)
{
    for (size_t i = 0; i < service->n_routes; i++)
        if (str_equal(str_of(service->routes[i].subject), subject))
            return &service->routes[i];
    return NULL;
}

/* An absent id is nil; a malformed one is false. */
static bool read_id(struct bus_message *message, const char *header, struct uuid *out)
{
    struct str text = bus_message_header(message, header);

    return text.p == NULL || uuid_parse(text, out);
}

static bool read_deadline(struct command *command)
{
    struct str text = bus_message_header(command->message, HEADER_DEADLINE);
    uint64_t ms;

    command->deadline_us = command->received_us + PATIENCE_US;
    if (text.p == NULL)
        return true;
    if (!str_to_u64(text, INT64_MAX / 1000, &ms))
        return false;
    command->deadline_us = (int64_t)ms * 1000;
    if (command->deadline_us > command->received_us + PATIENCE_MOST_US)
        command->deadline_us = command->received_us + PATIENCE_MOST_US;
    return true;
}

/* Text for people. Longer than this it is nobody's email address. */
static bool read_email(struct bus_message *message, struct str *out)
{
    *out = bus_message_header(message, HEADER_USER_EMAIL);
    return out->n <= EMAIL_MOST && text_is_utf8(*out);
}

static bool read_address(struct bus_message *message, struct str *out)
{
    struct address address;

    *out = bus_message_header(message, HEADER_CLIENT);
    return out->p == NULL || address_parse(*out, &address);
}

static bool read_changer(struct command *command)
{
    struct caller *caller = &command->caller;

    return read_id(command->message, HEADER_USER, &caller->user_id) &&
           read_email(command->message, &caller->user_email) &&
           read_address(command->message, &caller->address);
}

static bool read_caller(struct command *command)
{
    struct caller *caller = &command->caller;
    struct bus_message *message = command->message;

    caller->may_write = str_equal(bus_message_header(message, HEADER_SCOPE), STR("full"));
    return read_id(message, HEADER_REQUEST_ID, &caller->request_id) &&
           read_id(message, HEADER_ORGANIZATION, &caller->organization_id) &&
           read_id(message, HEADER_API_KEY, &caller->api_key_id) &&
           (command->route->change == CHANGE_NONE || read_changer(command));
}

/* What the audit trail needs to name a request. */
static bool is_identified(const struct caller *caller)
{
    return !uuid_is_nil(&caller->request_id) && !uuid_is_nil(&caller->organization_id) &&
           !uuid_is_nil(&caller->api_key_id);
}

bool work_read(struct actor *actor, const struct waiting *from, struct work *work)
{
    struct command *command = &work->command;
    const struct route *route = find_route(actor->service, bus_message_subject(from->message));

    work->request_id = bus_message_header(from->message, HEADER_REQUEST_ID);
    work->since_us = from->since_us;
    *command = (struct command){
        .route = route,
        .message = from->message,
        .resource_id = bus_message_header(from->message, HEADER_RESOURCE),
        .query = bus_message_header(from->message, HEADER_QUERY),
        .body = bus_message_body(from->message),
        .traceparent = bus_message_header(from->message, HEADER_TRACEPARENT),
        .received_us = from->received_us,
        .arena = &actor->arena,
    };
    (void)span_begin(&work->span, command->traceparent, false);
    if (route && read_caller(command) && read_deadline(command) &&
        (route->operation == OP_NONE || is_identified(&command->caller)))
        return true;

    LOG(LOG_WARNING, route ? "headers are missing or malformed" : "unknown command",
        log_slice("subject", bus_message_subject(from->message)),
        log_slice("request_id", work->request_id), log_trace(work->command.traceparent));
    work_fail(work, OUTCOME_UNKNOWN_COMMAND);
    return false;
}

bool work_is_expired(const struct work *work)
{
    return work->command.deadline_us <= clock_us();
}

bool work_is_hopeless(const struct actor *actor, const struct work *work)
{
    const struct command *command = &work->command;
    int64_t left_us = command->deadline_us - clock_us();

    return left_us < (command->deadline_us - command->received_us) / 2 && left_us < actor->batch_us;
}

static void empty_answer(struct command *command)
{
    command->outcome = OUTCOME_OK;
    buf_init(&command->reply, command->arena, 0);
    problems_init(&command->problems, command->arena);
    command->conversation_id = command->contact_id = (struct uuid){{0}};
    command->is_no_change = false;
    command->change_target = STR_NONE;
    command->change_detail = (struct buf){0};
    command->state = NULL;
    command->lock_order = 0;
    command->doorbell = NULL;
    command->retry_after_s = 0;
}

void work_judge(struct actor *actor, struct work *work)
{
    struct command *command = &work->command;
    const struct route *route = command->route;

    empty_answer(command);
    /* The gateway has seen to it; a second look costs nothing. */
    if (route->operation != OP_NONE && route->writes && !command->caller.may_write)
        work->verdict =
            command_refuse(command, OUTCOME_INSUFFICIENT_SCOPE, NULL, "This key may only read");
    else
        work->verdict = route->judge ? route->judge(command, actor->service->self) : ST_OK;
}

void work_ask(struct actor *actor, struct work *work)
{
    if (work->verdict == ST_OK && work->command.route->ask)
        work->command.route->ask(&work->command, actor->db, actor->service->self);
}

void work_tell(struct actor *actor, struct work *work)
{
    struct command *command = &work->command;

    if (work->verdict == ST_OK && command->route->tell)
        work->verdict = command->route->tell(command, actor->db, actor->service->self);
    if (work->verdict == ST_OK && command->reply.n > REPLY_MOST) {
        LOG(LOG_ERROR, "reply is too large for the bus", log_str("route", command->route->subject),
            log_slice("request_id", work->request_id), log_trace(work->command.traceparent),
            log_int("bytes", (int64_t)command->reply.n));
        work->verdict = ST_INTERNAL;
    }
}

void work_fail(struct work *work, enum outcome outcome)
{
    struct command *command = &work->command;

    empty_answer(command);
    command_refuse(command, outcome, NULL,
                   outcome == OUTCOME_UNKNOWN_COMMAND ? "There is no such command"
                   : outcome_http_status(outcome) == 503
                       ? "The service is temporarily unavailable; nothing was written"
                       : "Something went wrong on our side");
}

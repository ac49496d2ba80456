#include "common/actor/command.h"

#include <stdarg.h>

#include "common/actor/handler.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"
#include "common/bus/bus.h"
#include "common/json/json.h"
#include "common/trace/trace.h"
#include "proto/headers.h"

enum { REPLY_MAX = BUS_PAYLOAD_MIN - 4096 }; /* the headers need the rest */

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

/* -- around the hooks ------------------------------------------------------------------------ */

bool command_is_expired(const struct command *command)
{
    return command->deadline_us <= clock_us();
}

static void clear_reply(struct command *command)
{
    command->outcome = OUTCOME_OK;
    buf_init(&command->reply, command->arena, 0);
    errors_init(&command->errors, command->arena);
    command->conversation_id = command->contact_id = (struct uuid){{0}};
    command->is_no_change = false;
    command->change_target = STR_NONE;
    command->change_detail = (struct buf){0};
    command->input = command->state = NULL;
    command->lock_order = 0;
    command->notice = NULL;
    command->retry_after_s = 0;
}

enum status command_begin(struct command *command, void *service)
{
    watchdog_kick(); /* hashing a password takes long, and a batch may have many */
    clear_reply(command);
    command->cost = 1;
    /* The gateway has checked this; a second check costs nothing. */
    if (command->handler->operation != OP_NONE && command->handler->writes &&
        !command->caller.may_write)
        return command_refuse(command, OUTCOME_INSUFFICIENT_SCOPE, NULL, "This key is read-only");
    return command_parse(command, service);
}

enum status command_finish(struct command *command, struct db *db, void *service)
{
    const struct command_handler *handler = command->handler;
    enum status st = ST_OK;

    watchdog_kick();
    if (handler->reply != NULL)
        st = handler->reply(command, db, service);
    if (st != ST_OK || command->reply.n <= REPLY_MAX)
        return st;
    LOG(LOG_ERROR, "reply is too large for the bus", log_str("route", handler->subject),
        log_slice("request_id", bus_message_header(command->message, HEADER_REQUEST_ID)),
        log_trace(command->traceparent), log_int("bytes", (int64_t)command->reply.n));
    return ST_INTERNAL;
}

void command_fail(struct command *command, enum outcome outcome)
{
    clear_reply(command);
    command_refuse(command, outcome, NULL,
                   outcome == OUTCOME_UNKNOWN_COMMAND ? "Unknown command"
                   : outcome_http_status(outcome) == 503
                       ? "The service is temporarily unavailable; nothing was written"
                       : "Internal error");
}

#include "common/actor/command_read.h"

#include "common/actor/handler.h"
#include "common/base/ip.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/bus/bus.h"
#include "proto/headers.h"

enum {
    TIMEOUT_US = 5 * 1000 * 1000,      /* of a command without a deadline */
    TIMEOUT_MAX_US = 45 * 1000 * 1000, /* nobody waits for longer */
    EMAIL_MAX = 1024,                  /* bytes: 255 characters */
};

/* An absent id is nil; a malformed one is false. */
static bool read_id(struct bus_message *message, const char *header, struct uuid *out)
{
    struct str text = bus_message_header(message, header);

    return text.p == NULL || uuid_parse(text, out);
}

/* A deadline that nobody can mean is by a clock that is ahead of ours, as one that has passed may be
   by a clock behind it: the command is not run, since its audit entry would have a time that is not
   plausible. Gateways are at most 42 s ahead of us then, and the seal allows a minute. */
static bool read_deadline(struct bus_message *message, int64_t received_us, int64_t *out)
{
    struct str text = bus_message_header(message, HEADER_DEADLINE);
    uint64_t ms;

    *out = received_us + TIMEOUT_US;
    if (text.p == NULL)
        return true;
    if (!str_to_u64(text, INT64_MAX / 1000, &ms))
        return false;
    *out = (int64_t)ms * 1000;
    if (*out > received_us + TIMEOUT_MAX_US)
        *out = received_us - 1;
    return true;
}

int64_t command_until_us(struct bus_message *message, int64_t received_us, int64_t since_us)
{
    int64_t deadline_us;

    if (!read_deadline(message, received_us, &deadline_us))
        return 0;
    return since_us + deadline_us - received_us;
}

/* For display only. No email address is longer. */
static bool read_email(struct bus_message *message, struct str *out)
{
    *out = bus_message_header(message, HEADER_USER_EMAIL);
    return out->n <= EMAIL_MAX && text_is_utf8(*out);
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
           (command->handler->change == CHANGE_NONE || read_changer(command));
}

/* The audit log needs all three to name a request. */
static bool is_identified(const struct caller *caller)
{
    return !uuid_is_nil(&caller->request_id) && !uuid_is_nil(&caller->organization_id) &&
           !uuid_is_nil(&caller->api_key_id);
}

bool command_read(struct waiting *from, struct arena *arena, struct batch_item *item)
{
    struct command *command = &item->command;
    const struct command_handler *handler = from->handler;

    item->request_id = bus_message_header(from->message, HEADER_REQUEST_ID);
    item->waiting = from;
    *command = (struct command){
        .handler = handler,
        .message = from->message,
        .resource_id = bus_message_header(from->message, HEADER_RESOURCE),
        .query = bus_message_header(from->message, HEADER_QUERY),
        .body = bus_message_body(from->message),
        .traceparent = bus_message_header(from->message, HEADER_TRACEPARENT),
        .received_us = from->received_us,
        .arena = arena,
    };
    (void)span_begin(&item->span, command->traceparent, false);
    if (read_caller(command) &&
        read_deadline(from->message, from->received_us, &command->deadline_us) &&
        (handler->operation == OP_NONE || is_identified(&command->caller)))
        return true;

    LOG(LOG_WARNING, "headers are missing or malformed",
        log_slice("subject", bus_message_subject(from->message)),
        log_slice("request_id", item->request_id), log_trace(item->command.traceparent));
    return false;
}

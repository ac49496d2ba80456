/*
 * publish - publishes an event of an external system.
 *
 * Answer   ok: {id, type}; or parameter_invalid, parameter_not_found
 * Notice   v1.notice.events
 * Retry    publishes another event each time
 *
 * conversation.created cannot be published here: the commands that create a conversation write it.
 */
#include "common/base/clock.h"
#include "common/db/params.h"
#include "common/json/fields.h"
#include "proto/subject.h"
#include "services/webhook/webhook.h"

enum { TEXT_MAX = 255 };

static const char *const types[] = {"ticket.created", "ticket.resolved", "ai.handoff", NULL};

struct ticket {
    struct str id, conversation_id, status;
};

static const struct field ticket_fields[] = {
    {.name = "id",
     .kind = FIELD_IDENTIFIER,
     .required = true,
     .min = 1,
     .max = TEXT_MAX,
     .offset = offsetof(struct ticket, id)},
    {.name = "conversation_id",
     .kind = FIELD_UUID,
     .nullable = true,
     .offset = offsetof(struct ticket, conversation_id)},
    {.name = "status",
     .kind = FIELD_IDENTIFIER,
     .required = true,
     .min = 1,
     .max = TEXT_MAX,
     .offset = offsetof(struct ticket, status)},
    FIELDS_END,
};

struct handoff {
    struct str id, channel, status;
};

static const struct field handoff_fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct handoff, id)},
    {.name = "channel",
     .kind = FIELD_IDENTIFIER,
     .required = true,
     .min = 1,
     .max = TEXT_MAX,
     .offset = offsetof(struct handoff, channel)},
    {.name = "status",
     .kind = FIELD_IDENTIFIER,
     .required = true,
     .min = 1,
     .max = TEXT_MAX,
     .offset = offsetof(struct handoff, status)},
    FIELDS_END,
};

struct event_body {
    struct str type;
    json_t *data;
};

/* Keeps the data until the type is known: members come in any order. */
static void keep_data(json_t *value, const char *path, void *slot, struct errors *errors)
{
    *(json_t **)slot = json_incref(value);
}

static const struct field fields[] = {
    {.name = "type",
     .kind = FIELD_CHOICE,
     .required = true,
     .choices = types,
     .offset = offsetof(struct event_body, type)},
    {.name = "data",
     .kind = FIELD_CUSTOM,
     .required = true,
     .read = keep_data,
     .offset = offsetof(struct event_body, data)},
    FIELDS_END,
};

static void add(struct buf *out, const char *name, struct str value)
{
    json_add_key(out, name);
    json_add_string(out, value);
}

static struct str ticket_data(json_t *data, struct errors *errors)
{
    struct ticket ticket = {0};
    struct buf out;

    fields_read(data, "data", ticket_fields, &ticket, errors);
    buf_init(&out, errors->arena, 256);
    buf_char(&out, '{');
    add(&out, "id", ticket.id);
    add(&out, "conversation_id", ticket.conversation_id);
    add(&out, "status", ticket.status);
    buf_char(&out, '}');
    return buf_str(&out);
}

static struct str handoff_data(json_t *data, struct errors *errors)
{
    struct handoff handoff = {0};
    struct buf out;

    fields_read(data, "data", handoff_fields, &handoff, errors);
    buf_init(&out, errors->arena, 256);
    buf_char(&out, '{');
    add(&out, "id", handoff.id);
    add(&out, "channel", handoff.channel);
    add(&out, "status", handoff.status);
    buf_char(&out, '}');
    return buf_str(&out);
}

static enum status publish_parse(struct command *command, void *service)
{
    struct operator_query *query = operator_query_for(command, SQL_PUBLISH_EVENT);
    const struct uuid id = uuid_v7(clock_us());
    struct event_body body = {0};
    struct str data = STR_NONE;

    if (fields_read_body(command->body, fields, &body, &command->errors))
        data = str_equal(body.type, STR("ai.handoff")) ? handoff_data(body.data, &command->errors)
                                                       : ticket_data(body.data, &command->errors);
    json_free(body.data);
    if (command->errors.n > 0)
        return command_refuse_all(command, fields_outcome(&command->errors));
    params_add_id(&query->params, command->arena, &id);
    params_add(&query->params, body.type);
    params_add(&query->params, data);
    return ST_OK;
}

const struct command_handler webhook_publish = {
    .subject = SUBJECT_WEBHOOK_PUBLISH,
    .writes = true,
    .needs_organization = true,
    .parse = publish_parse,
    .query = operator_query,
    .reply = webhook_reply_work,
};

#include "services/conversation/conversation_reply.h"

#include "common/base/clock.h"

struct str conversation_id_param(struct command *command, const struct uuid *id)
{
    char *text = arena_alloc(command->arena, UUID_TEXT + 1);

    uuid_format(id, text);
    return (struct str){text, UUID_TEXT};
}

struct str conversation_new_id_param(struct command *command)
{
    const struct uuid id = uuid_v7(clock_us());

    return conversation_id_param(command, &id);
}

struct str conversation_organization_param(struct command *command)
{
    return conversation_id_param(command, &command->caller.organization_id);
}

enum status conversation_refuse_absent(struct command *command)
{
    return command_refuse(command, OUTCOME_NOT_FOUND, NULL, "No such conversation");
}

void conversation_note_id(struct uuid *out, struct str text)
{
    if (!uuid_parse(text, out))
        *out = (struct uuid){0};
}

enum status conversation_reply(struct command *command,
                               const struct str values[CONVERSATION_COLUMNS])
{
    conversation_note_id(&command->conversation_id, values[CONVERSATION_ID]);
    conversation_note_id(&command->contact_id, values[CONVERSATION_CONTACT_ID]);
    buf_init(&command->reply, command->arena, 1024);
    conversation_write_values(&command->reply, values);
    return ST_OK;
}

enum status conversation_reply_row(struct command *command, const struct db_rows *rows, size_t row,
                                   int first)
{
    struct str values[CONVERSATION_COLUMNS];

    for (int i = 0; i < CONVERSATION_COLUMNS; i++)
        values[i] = db_value(rows, row, first + i);
    return conversation_reply(command, values);
}

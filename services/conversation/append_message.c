/*
 * conversation.append - add a message to a conversation.
 *
 * Answer   ok: the conversation; or what is wrong with the body; not_found
 * Retry    appends another message each time
 */
#include "conversation_sql.h"
#include "services/conversation/conversation.h"
#include "services/conversation/conversation_reply.h"

enum {
    MESSAGE_MAX = 20000,
    COLUMN_IS_LOCKED = 0, /* of sql/append_message.sql */
    COLUMN_CONVERSATION = 1,
};

struct append {
    struct str id, body;
    size_t result;
};

static const struct field fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct append, id)},
    {.name = "body",
     .kind = FIELD_TEXT,
     .max = MESSAGE_MAX,
     .offset = offsetof(struct append, body)},
};

enum status conversation_append_parse(struct command *command, void *service)
{
    struct append *const append = ARENA_NEW(command->arena, struct append);

    append->body = STR("");
    if (!conversation_read_body(command, fields, sizeof(fields) / sizeof(fields[0]), append))
        return ST_REFUSED;
    if (!uuid_parse(append->id, &command->conversation_id))
        return conversation_refuse_absent(command);
    command->state = append;
    return ST_OK;
}

void conversation_append_query(struct command *command, struct db *db, void *service)
{
    struct append *const append = command->state;
    const db_param params[] = {conversation_organization_param(command), append->id,
                               conversation_new_id_param(command), append->body};

    append->result = db_add(db, SQL_APPEND_MESSAGE, params, 4);
}

enum status conversation_append_reply(struct command *command, struct db *db, void *service)
{
    const struct append *const append = command->state;
    const struct db_rows *const rows = db_result(db, append->result);

    if (db_rows_count(rows) != 1)
        return ST_INTERNAL;
    if (db_value_bool(rows, 0, COLUMN_IS_LOCKED))
        return ST_RETRY;
    if (db_value(rows, 0, COLUMN_CONVERSATION + CONVERSATION_ID).p == NULL)
        return conversation_refuse_absent(command);
    return conversation_reply_row(command, rows, 0, COLUMN_CONVERSATION);
}

/*
 * conversation.delete - delete a conversation and its messages. Its external id stays taken.
 *
 * Answer   ok: {"id", "deleted": true}; or what is wrong with the body; not_found
 * Retry    a second time it is not found
 */
#include "conversation_sql.h"
#include "services/conversation/conversation.h"
#include "services/conversation/conversation_reply.h"

/* The columns of sql/delete_conversation.sql. */
enum delete_column {
    COLUMN_IS_LOCKED,
    COLUMN_IS_DELETED,
    COLUMN_CONTACT_ID,
};

struct delete
{
    struct str id;
    size_t result;
};

static const struct field fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct delete, id)},
};

enum status conversation_delete_parse(struct command *command, void *service)
{
    struct delete *const delete = ARENA_NEW(command->arena, struct delete);

    if (!conversation_read_body(command, fields, 1, delete))
        return ST_REFUSED;
    if (!uuid_parse(delete->id, &command->conversation_id))
        return conversation_refuse_absent(command);
    command->state = delete;
    return ST_OK;
}

void conversation_delete_query(struct command *command, struct db *db, void *service)
{
    struct delete *const delete = command->state;
    const db_param params[] = {conversation_organization_param(command), delete->id};

    delete->result = db_add(db, SQL_DELETE_CONVERSATION, params, 2);
    db_add(db, SQL_DELETE_MESSAGES, params, 2);
}

enum status conversation_delete_reply(struct command *command, struct db *db, void *service)
{
    const struct delete *const delete = command->state;
    const struct db_rows *const rows = db_result(db, delete->result);

    if (db_rows_count(rows) != 1)
        return ST_INTERNAL;
    if (db_value_bool(rows, 0, COLUMN_IS_LOCKED))
        return ST_RETRY;
    if (!db_value_bool(rows, 0, COLUMN_IS_DELETED))
        return conversation_refuse_absent(command);
    conversation_note_id(&command->contact_id, db_value(rows, 0, COLUMN_CONTACT_ID));
    buf_init(&command->reply, command->arena, 64);
    buf_printf(&command->reply, "{\"id\":\"%.*s\",\"deleted\":true}", STR_ARG(delete->id));
    return ST_OK;
}

/*
 * conversation.delete - delete a conversation and its messages. Its external id stays taken.
 *
 * Answer   ok: {"id", "deleted": true}; or what is wrong with the body; not_found
 * Retry    a second time it is not found
 */
#include "conversation_sql.h"
#include "services/conversation/conversation.h"
#include "services/conversation/lock_order.h"
#include "services/conversation/reply.h"

struct delete
{
    struct str id;
    size_t result;
};

static const struct field fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct delete, id)},
};

enum status delete_judge(struct command *command, void *service)
{
    struct delete *const delete = ARENA_NEW(command->arena, struct delete);

    if (!read_operator_body(command, fields, 1, delete))
        return ST_REFUSED;
    if (!uuid_parse(delete->id, &command->conversation_id))
        return refuse_absent(command);
    command->lock_order = lock_order(&command->caller.organization_id, delete->id);
    command->state = delete;
    return ST_OK;
}

void delete_ask(struct command *command, struct db *db, void *service)
{
    struct delete *const delete = command->state;
    const db_param params[] = {organization_param(command), delete->id};

    delete->result = db_add(db, SQL_DELETE_CONVERSATION, params, 2);
    db_add(db, SQL_DELETE_MESSAGES, params, 2);
}

enum status delete_tell(struct command *command, struct db *db, void *service)
{
    const struct delete *const delete = command->state;
    const struct db_rows *const rows = db_result(db, delete->result);

    if (db_rows_count(rows) == 0)
        return refuse_absent(command);
    note_id(&command->contact_id, db_value(rows, 0, 0));
    buf_init(&command->reply, command->arena, 64);
    buf_printf(&command->reply, "{\"id\":\"%.*s\",\"deleted\":true}", STR_ARG(delete->id));
    return ST_OK;
}

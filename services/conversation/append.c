/*
 * conversation.append - add a message to a conversation.
 *
 * Answer   ok: the conversation; or what is wrong with the body; not_found
 * Retry    appends another message each time
 */
#include "conversation_sql.h"
#include "services/conversation/conversation.h"
#include "services/conversation/lock_order.h"
#include "services/conversation/reply.h"

enum { MESSAGE_MOST = 20000 };

struct append {
    struct str id, body;
    size_t result;
};

static const struct field fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct append, id)},
    {.name = "body",
     .kind = FIELD_TEXT,
     .most = MESSAGE_MOST,
     .offset = offsetof(struct append, body)},
};

enum status append_judge(struct command *command, void *service)
{
    struct append *const append = ARENA_NEW(command->arena, struct append);

    append->body = STR("");
    if (!read_operator_body(command, fields, sizeof(fields) / sizeof(fields[0]), append))
        return ST_REFUSED;
    if (!uuid_parse(append->id, &command->conversation_id))
        return refuse_absent(command);
    command->lock_order = lock_order(&command->caller.organization_id, append->id);
    command->state = append;
    return ST_OK;
}

void append_ask(struct command *command, struct db *db, void *service)
{
    struct append *const append = command->state;
    const db_param params[] = {organization_param(command), append->id, new_id_param(command),
                               append->body};

    append->result = db_add(db, SQL_APPEND_MESSAGE, params, 4);
}

enum status append_tell(struct command *command, struct db *db, void *service)
{
    const struct append *const append = command->state;
    const struct db_rows *const rows = db_result(db, append->result);

    if (db_rows_count(rows) == 0)
        return refuse_absent(command);
    return reply_conversation_row(command, rows, 0, 0);
}

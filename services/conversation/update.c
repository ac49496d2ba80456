/*
 * conversation.update - merge custom attributes into a conversation.
 *
 * Answer   ok: the conversation; or what is wrong with the body; not_found
 * Retry    safe: merging the same again changes nothing but updated_at
 */
#include "conversation_sql.h"
#include "services/conversation/body.h"
#include "services/conversation/conversation.h"
#include "services/conversation/lock_order.h"
#include "services/conversation/reply.h"

/* The columns of sql/update_attributes.sql. */
enum update_column {
    COLUMN_N_KEYS, /* that it would have, when it was not changed; NULL: it is not there */
    COLUMN_CONVERSATION,
};

enum status update_judge(struct command *command, void *service)
{
    const bool is_id = uuid_parse(command->resource_id, &command->conversation_id);
    struct update_body body;

    if (!update_body_read(command->body, &body, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    if (!is_id)
        return refuse_absent(command);
    command->lock_order = lock_order(&command->caller.organization_id, command->resource_id);
    command->state = ARENA_NEW(command->arena, size_t);
    return ST_OK;
}

void update_ask(struct command *command, struct db *db, void *service)
{
    const char *const most = arena_printf(command->arena, "%d", ATTRIBUTES_MOST);
    const db_param params[] = {
        organization_param(command),
        command->resource_id,
        command->body,
        str_of(most),
    };

    *(size_t *)command->state = db_add(db, SQL_UPDATE_ATTRIBUTES, params, 4);
}

enum status update_tell(struct command *command, struct db *db, void *service)
{
    const struct db_rows *const rows = db_result(db, *(size_t *)command->state);

    if (db_rows_count(rows) != 1)
        return ST_INTERNAL;
    if (db_value(rows, 0, COLUMN_CONVERSATION + CONVERSATION_ID).p != NULL)
        return reply_conversation_row(command, rows, 0, COLUMN_CONVERSATION);
    if (db_value(rows, 0, COLUMN_N_KEYS).p == NULL)
        return refuse_absent(command);
    if (db_value_int(rows, 0, COLUMN_N_KEYS) > ATTRIBUTES_MOST)
        return command_refuse(command, OUTCOME_PARAMETER_INVALID, "custom_attributes",
                              ATTRIBUTES_TOO_MANY);
    return ST_RETRY;
}

/*
 * conversation.update - merge custom attributes into a conversation.
 *
 * Answer   ok: the conversation; or the errors of the body; not_found
 * Retry    safe: merging the same again changes nothing but updated_at
 */
#include "conversation_sql.h"
#include "proto/subject.h"
#include "services/conversation/body.h"
#include "services/conversation/conversation.h"

static enum status update_parse(struct command *command, void *service)
{
    const bool is_id = uuid_parse(command->resource_id, &command->conversation_id);
    struct update_body body;

    if (!update_body_read(command->body, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    if (!is_id)
        return conversation_refuse_absent(command);
    command->state = ARENA_NEW(command->arena, size_t);
    return ST_OK;
}

static void update_query(struct command *command, struct db *db, void *service)
{
    const char *max = arena_printf(command->arena, "%d", ATTRIBUTES_MAX);
    const db_param params[] = {
        conversation_organization_param(command),
        command->resource_id,
        command->body,
        str_of(max),
    };

    *(size_t *)command->state = db_add(db, SQL_UPDATE_ATTRIBUTES, params, 4);
}

static enum status update_reply(struct command *command, struct db *db, void *service)
{
    const struct db_rows *rows = db_result(db, *(size_t *)command->state);

    if (db_rows_count(rows) != 1)
        return ST_INTERNAL;
    if (db_value(rows, 0, UPDATE_ATTRIBUTES_CONVERSATION + CONVERSATION_ID).p != NULL)
        return conversation_reply_row(command, rows, 0, UPDATE_ATTRIBUTES_CONVERSATION);
    if (db_value_bool(rows, 0, UPDATE_ATTRIBUTES_IS_LOCKED))
        return ST_RETRY;
    if (db_value(rows, 0, UPDATE_ATTRIBUTES_N_KEYS).p == NULL)
        return conversation_refuse_absent(command);
    return command_refuse(command, OUTCOME_PARAMETER_INVALID, "custom_attributes",
                          ATTRIBUTES_TOO_MANY);
}

const struct command_handler conversation_update = {
    .subject = SUBJECT_CONVERSATION_UPDATE,
    .operation = OP_CONVERSATION_UPDATE,
    .writes = true,
    .parse = update_parse,
    .query = update_query,
    .reply = update_reply,
};

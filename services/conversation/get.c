/*
 * conversation.get - read one conversation.
 *
 * Answer   ok: the conversation; or not_found
 */
#include "conversation_sql.h"
#include "services/conversation/conversation.h"
#include "services/conversation/reply.h"

enum status get_judge(struct command *command, void *service)
{
    if (!uuid_parse(command->resource_id, &command->conversation_id))
        return refuse_absent(command);
    command->state = ARENA_NEW(command->arena, size_t);
    return ST_OK;
}

void get_ask(struct command *command, struct db *db, void *service)
{
    const db_param params[] = {organization_param(command), command->resource_id};

    *(size_t *)command->state = db_add(db, SQL_READ_CONVERSATION, params, 2);
}

enum status get_tell(struct command *command, struct db *db, void *service)
{
    const struct db_rows *const rows = db_result(db, *(size_t *)command->state);

    if (db_rows_count(rows) == 0)
        return refuse_absent(command);
    return reply_conversation_row(command, rows, 0, 0);
}

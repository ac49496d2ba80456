/*
 * conversation.get - read one conversation.
 *
 * Answer   ok: the conversation; or not_found
 */
#include "common/db/array.h"
#include "conversation_sql.h"
#include "services/conversation/conversation.h"
#include "services/conversation/reply.h"

/* Where the answer to one command is. */
struct place {
    size_t result, row;
};

enum status get_judge(struct command *command, void *service)
{
    if (!uuid_parse(command->resource_id, &command->conversation_id))
        return refuse_absent(command);
    command->state = ARENA_NEW(command->arena, struct place);
    return ST_OK;
}

void get_ask(struct command *const *commands, size_t n, struct db *db, void *service)
{
    struct arena *const arena = commands[0]->arena;
    struct buf organizations, ids;
    size_t result;

    array_open(&organizations, arena, 2 + n * (UUID_TEXT + 1));
    array_open(&ids, arena, 2 + n * (UUID_TEXT + 1));
    for (size_t i = 0; i < n; i++) {
        array_add_id(&organizations, &commands[i]->caller.organization_id);
        array_add_id(&ids, &commands[i]->conversation_id);
    }
    result = db_add(db, SQL_READ_CONVERSATIONS,
                    (db_param[]){array_close(&organizations), array_close(&ids)}, 2);
    for (size_t i = 0; i < n; i++)
        *(struct place *)commands[i]->state = (struct place){result, i};
}

enum status get_tell(struct command *command, struct db *db, void *service)
{
    const struct place *const place = command->state;
    const struct db_rows *const rows = db_result(db, place->result);

    if (db_rows_count(rows) <= place->row)
        return ST_INTERNAL;
    if (db_value(rows, place->row, CONVERSATION_ID).p == NULL)
        return refuse_absent(command);
    return reply_conversation_row(command, rows, place->row, 0);
}

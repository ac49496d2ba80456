/*
 * conversation.get - read one conversation.
 *
 * Answer   ok: the conversation; or not_found
 */
#include "common/db/params.h"
#include "conversation_sql.h"
#include "proto/subject.h"
#include "services/conversation/body.h"
#include "services/conversation/conversation.h"

/* Where one command's row is. */
struct result_row {
    size_t result, row;
};

static enum status get_parse(struct command *command, void *service)
{
    if (!uuid_parse(command->resource_id, &command->conversation_id))
        return conversation_refuse_absent(command);
    command->state = ARENA_NEW(command->arena, struct result_row);
    return ST_OK;
}

static void get_query(struct command *const *commands, size_t n, struct db *db, void *service)
{
    struct arena *arena = commands[0]->arena;
    struct elements organizations, ids;
    struct params params = {.n = 0};
    size_t result;

    ids_open(&organizations, arena, n);
    ids_open(&ids, arena, n);
    for (size_t i = 0; i < n; i++) {
        ids_add(&organizations, &commands[i]->caller.organization_id);
        ids_add(&ids, &commands[i]->conversation_id);
    }
    params_add_elements(&params, &organizations);
    params_add_elements(&params, &ids);
    result = db_add(db, SQL_READ_CONVERSATIONS, &params);
    for (size_t i = 0; i < n; i++)
        *(struct result_row *)commands[i]->state = (struct result_row){result, i};
}

static enum status get_reply(struct command *command, struct db *db, void *service)
{
    const struct result_row *result = command->state;
    const struct db_rows *rows = db_result(db, result->result);

    if (db_rows_count(rows) <= result->row)
        return ST_INTERNAL;
    if (db_value(rows, result->row, READ_CONVERSATIONS_CONVERSATION + CONVERSATION_ID).p == NULL)
        return conversation_refuse_absent(command);
    return conversation_reply_row(command, rows, result->row, READ_CONVERSATIONS_CONVERSATION);
}

const struct command_handler conversation_get = {
    .subject = SUBJECT_CONVERSATION_GET,
    .operation = OP_CONVERSATION_GET,
    .parse = get_parse,
    .reply = get_reply,
    .query_together = get_query,
};

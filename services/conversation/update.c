/*
 * conversation.update - merge custom attributes into a conversation.
 *
 * Answer   ok: the conversation; or the errors of the body; not_found
 * Retry    safe: merging the same attributes again changes only updated_at
 */
#include "common/db/params.h"
#include "conversation_sql.h"
#include "proto/subject.h"
#include "services/conversation/body.h"
#include "services/conversation/conversation.h"

struct update {
    size_t turn;        /* how many earlier commands of the batch change the same conversation */
    size_t result, row; /* where its row is */
};

static enum status update_parse(struct command *command, void *service)
{
    const bool is_id = uuid_parse(command->resource_id, &command->conversation_id);
    struct update_body body;

    if (!update_body_read(command->body, &body, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    if (!is_id)
        return conversation_refuse_absent(command);
    command->state = ARENA_NEW(command->arena, struct update);
    return ST_OK;
}

static struct update *update_of(const struct command *command)
{
    return command->state;
}

static bool is_for_the_same(const struct command *a, const struct command *b)
{
    return uuid_equal(&a->conversation_id, &b->conversation_id) &&
           uuid_equal(&a->caller.organization_id, &b->caller.organization_id);
}

/* Gives updates of the same conversation successive turns, in order; returns how many turns. */
static size_t give_turns(struct command *const *commands, size_t n)
{
    size_t n_turns = 0;

    for (size_t i = 0; i < n; i++) {
        size_t turn = 0;

        for (size_t k = i; k-- > 0 && turn == 0;)
            if (is_for_the_same(commands[k], commands[i]))
                turn = update_of(commands[k])->turn + 1;
        update_of(commands[i])->turn = turn;
        if (turn >= n_turns)
            n_turns = turn + 1;
    }
    return n_turns;
}

/* Queues one statement for all updates of this turn; it sees the writes of earlier turns. */
static void ask_turn(struct command *const *commands, size_t n, size_t turn, struct db *db)
{
    struct arena *arena = commands[0]->arena;
    struct elements organizations, ids, bodies;
    struct params params = {.n = 0};
    size_t result, row = 0, n_asked = 0, n_bytes = 0;

    for (size_t i = 0; i < n; i++) {
        if (update_of(commands[i])->turn != turn)
            continue;
        n_asked++;
        n_bytes += 8 + commands[i]->body.n;
    }
    ids_open(&organizations, arena, n_asked);
    ids_open(&ids, arena, n_asked);
    jsons_open(&bodies, arena, n_bytes);
    for (size_t i = 0; i < n; i++) {
        if (update_of(commands[i])->turn != turn)
            continue;
        ids_add(&organizations, &commands[i]->caller.organization_id);
        ids_add(&ids, &commands[i]->conversation_id);
        jsons_add(&bodies, commands[i]->body);
        update_of(commands[i])->row = row++;
    }
    params_add_elements(&params, &organizations);
    params_add_elements(&params, &ids);
    params_add_elements(&params, &bodies);
    params_add_int(&params, arena, ATTRIBUTES_MAX);
    result = db_add(db, SQL_UPDATE_ATTRIBUTES, &params);
    for (size_t i = 0; i < n; i++)
        if (update_of(commands[i])->turn == turn)
            update_of(commands[i])->result = result;
}

static void update_query(struct command *const *commands, size_t n, struct db *db, void *service)
{
    const size_t n_turns = give_turns(commands, n);

    for (size_t turn = 0; turn < n_turns; turn++)
        ask_turn(commands, n, turn, db);
}

static enum status update_reply(struct command *command, struct db *db, void *service)
{
    const struct update *update = update_of(command);
    const struct db_rows *rows = db_result(db, update->result);

    if (db_rows_count(rows) <= update->row)
        return ST_INTERNAL;
    if (db_value_bool(rows, update->row, UPDATE_ATTRIBUTES_IS_CHANGED))
        return conversation_reply_row(command, rows, update->row, UPDATE_ATTRIBUTES_CONVERSATION);
    if (db_value_bool(rows, update->row, UPDATE_ATTRIBUTES_IS_RACED))
        return ST_RETRY;
    if (db_value(rows, update->row, UPDATE_ATTRIBUTES_CONVERSATION + CONVERSATION_ID).p == NULL)
        return conversation_refuse_absent(command);
    return command_refuse(command, OUTCOME_PARAMETER_INVALID, "custom_attributes",
                          ATTRIBUTES_TOO_MANY);
}

const struct command_handler conversation_update = {
    .subject = SUBJECT_CONVERSATION_UPDATE,
    .operation = OP_CONVERSATION_UPDATE,
    .writes = true,
    .parse = update_parse,
    .reply = update_reply,
    .query_together = update_query,
};

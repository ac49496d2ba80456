#include "common/actor/operator_command.h"

#include "common/base/log.h"
#include "common/db/params.h"
#include "common/json/json.h"

struct operator_query *operator_query_of(struct command *command, int statement)
{
    struct operator_query *query = ARENA_NEW(command->arena, struct operator_query);

    query->statement = statement;
    command->state = query;
    return query;
}

struct operator_query *operator_query_for(struct command *command, int statement)
{
    struct operator_query *query = operator_query_of(command, statement);

    params_add_id(&query->params, command->arena, &command->caller.organization_id);
    return query;
}

void operator_param_id(struct operator_query *query, struct arena *arena, struct str text)
{
    struct uuid id = {0};

    (void)uuid_parse(text, &id); /* on failure the id stays nil */
    params_add_id(&query->params, arena, &id);
}

const struct field operator_list_fields[] = {
    {.name = "before", .kind = FIELD_UUID, .offset = offsetof(struct operator_list, before)},
    FIELDS_END,
};

void operator_query(struct command *command, struct db *db, void *service)
{
    struct operator_query *query = command->state;

    struct params of_lock = query->params;

    of_lock.n = query->n_lock_params;
    if (query->has_lock)
        db_add(db, query->lock_statement, &of_lock);
    query->index = db_add(db, query->statement, &query->params);
}

bool operator_write(struct command *command, struct str object, const char *name, struct str secret)
{
    if (object.n < 2 || (name != NULL && object.p[object.n - 1] != '}'))
        return false;
    if (name == NULL) {
        buf_add(&command->reply, object);
        return true;
    }
    buf_add(&command->reply, (struct str){object.p, object.n - 1});
    json_add_key(&command->reply, name);
    json_add_string(&command->reply, secret);
    buf_char(&command->reply, '}');
    return true;
}

static enum status fail(const struct command *command, struct str result)
{
    LOG(LOG_ERROR, "unexpected result of a statement", log_str("route", command->handler->subject),
        log_slice("result", result));
    return ST_INTERNAL;
}

enum status operator_refuse(struct command *command, struct str name,
                            const struct operator_results *results)
{
    for (size_t i = 0; i < results->n; i++) {
        const struct operator_result *result = &results->at[i];

        if (str_equal(name, result->name))
            return command_refuse(command, result->outcome, result->field, "%s", result->message);
    }
    return fail(command, name);
}

enum status operator_reply(struct command *command, struct db *db,
                           const struct operator_results *results)
{
    const struct operator_query *query = command->state;
    const struct db_rows *rows = db_result(db, query->index);
    struct str result, secret = query->secret;

    if (db_rows_count(rows) == 0)
        return command_refuse(command, results->no_row, NULL, "%s", results->no_row_message);
    result = db_value(rows, 0, OPERATOR_RESULT);
    command->is_no_change = str_equal(result, STR("same"));
    if (!str_equal(result, STR("ok")) && !command->is_no_change)
        return operator_refuse(command, result, results);
    if (query->secret_of_reader.n > 0 &&
        str_equal(db_value(rows, 0, query->scope_column), STR("read")))
        secret = query->secret_of_reader;
    return operator_write(command, db_value(rows, 0, OPERATOR_REPLY), query->secret_name, secret)
               ? ST_OK
               : fail(command, result);
}

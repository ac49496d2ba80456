/*
 * The steps that all commands share: from a parsed command to its statement, and from the row that
 * comes back to the reply.
 */
#include "common/base/log.h"
#include "common/json/json.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/webhook/webhook.h"

enum { RESULT, REPLY };

/* What a statement found instead of doing its work; besides these there are "ok" and "same", which
   found it done. */
static const struct webhook_result {
    struct str name;
    const char *message;
} results[] = {
    {STR("too_many"), "The organization has reached its limit of endpoints"},
    {STR("disabled"), "The endpoint is disabled; enable it first"},
    {STR("gone"), "The endpoint has been deleted"},
};

struct webhook_query *webhook_for_organization(struct command *command, enum webhook_sql statement)
{
    struct webhook_query *query;

    if (uuid_is_nil(&command->caller.organization_id)) {
        command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, HEADER_ORGANIZATION, "is required");
        return NULL;
    }
    query = ARENA_NEW(command->arena, struct webhook_query);
    query->statement = statement;
    params_add_id(&query->params, command->arena, &command->caller.organization_id);
    command->state = query;
    return query;
}

void webhook_param_id(struct webhook_query *query, struct arena *arena, struct str text)
{
    struct uuid id = {0};

    if (!uuid_parse(text, &id))
        id = (struct uuid){0};
    params_add_id(&query->params, arena, &id);
}

void webhook_use_queue(struct command *command)
{
    struct webhook_query *query = command->state;

    query->uses_queue = true;
    command->lock_order = 1;
}

void webhook_query(struct command *command, struct db *db, void *service)
{
    struct webhook_query *query = command->state;

    if (query->uses_queue)
        db_add(db, SQL_LOCK_QUEUE, NULL, 0);
    query->index = db_add(db, (int)query->statement, query->params.at, query->params.n);
}

/* The database's object, and the secret as its last member. */
static void write_reply(struct command *command, const struct webhook_query *query,
                        struct str object)
{
    if (query->secret.p == NULL) {
        buf_add(&command->reply, object);
        return;
    }
    object.n--;
    buf_add(&command->reply, object);
    json_add_key(&command->reply, "secret");
    json_add_string(&command->reply, query->secret);
    buf_char(&command->reply, '}');
}

static enum status misunderstand(const struct command *command, struct str result)
{
    LOG(LOG_ERROR, "unexpected result of a statement", log_str("route", command->route->subject),
        log_slice("result", result));
    return ST_INTERNAL;
}

static enum status refuse_result(struct command *command, struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
        if (str_equal(name, results[i].name))
            return command_refuse(command, OUTCOME_CONFLICT, NULL, "%s", results[i].message);
    }
    return misunderstand(command, name);
}

enum status webhook_reply(struct command *command, struct db *db, void *service)
{
    const struct webhook_query *query = command->state;
    const struct db_rows *rows = db_result(db, query->index);
    struct str result, reply;

    if (db_rows_count(rows) == 0)
        return command_refuse(command, OUTCOME_NOT_FOUND, NULL, "Not found");
    result = db_value(rows, 0, RESULT);
    command->is_no_change = str_equal(result, STR("same"));
    if (!str_equal(result, STR("ok")) && !command->is_no_change)
        return refuse_result(command, result);
    reply = db_value(rows, 0, REPLY);
    if (reply.n < 2)
        return misunderstand(command, result);
    write_reply(command, query, reply);
    return ST_OK;
}

enum status webhook_reply_work(struct command *command, struct db *db, void *service)
{
    const enum status st = webhook_reply(command, db, service);

    if (st == ST_OK)
        command->notice = SUBJECT_NOTICE_EVENTS;
    return st;
}

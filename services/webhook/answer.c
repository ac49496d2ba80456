/*
 * The steps that all commands share: from a judged command to its statement, and from the row that
 * comes back to the reply.
 */
#include "common/base/log.h"
#include "common/wire/json.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/webhook/webhook.h"

enum column { VERDICT, ANSWER };

/* What a statement found instead of doing its work; besides these there are "ok" and "same", which
   found it done. */
static const struct verdict {
    struct str name;
    const char *message;
} verdicts[] = {
    {STR("too_many"), "The organization has as many endpoints as it may have"},
    {STR("disabled"), "The endpoint is disabled; enable it first"},
    {STR("gone"), "The endpoint has been deleted"},
};

struct webhook_ask *webhook_for_organization(struct command *command, enum webhook_sql statement)
{
    struct webhook_ask *ask;

    if (uuid_is_nil(&command->caller.organization_id)) {
        command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, HEADER_ORGANIZATION, "is required");
        return NULL;
    }
    ask = ARENA_NEW(command->arena, struct webhook_ask);
    ask->statement = statement;
    params_add_id(&ask->params, command->arena, &command->caller.organization_id);
    command->state = ask;
    return ask;
}

void webhook_param_id(struct webhook_ask *ask, struct arena *arena, struct str text)
{
    struct uuid id = {0};

    if (!uuid_parse(text, &id))
        id = (struct uuid){0};
    params_add_id(&ask->params, arena, &id);
}

void webhook_ask(struct command *command, struct db *db, void *service)
{
    struct webhook_ask *ask = command->state;

    if (ask->uses_queue)
        db_add(db, SQL_LOCK_QUEUE, NULL, 0);
    ask->index = db_add(db, (int)ask->statement, ask->params.at, ask->params.n);
}

/* The database's object, and the secret as its last member. */
static void write_answer(struct command *command, const struct webhook_ask *ask, struct str object)
{
    if (ask->secret.p == NULL) {
        buf_add(&command->reply, object);
        return;
    }
    must(object.n > 2 && object.p[object.n - 1] == '}');
    object.n--;
    buf_add(&command->reply, object);
    json_add_key(&command->reply, "secret");
    json_add_string(&command->reply, ask->secret);
    buf_char(&command->reply, '}');
}

static enum status refuse_verdict(struct command *command, struct str name)
{
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        if (str_equal(name, verdicts[i].name))
            return command_refuse(command, OUTCOME_CONFLICT, NULL, "%s", verdicts[i].message);
    }
    log_bug("a verdict of the statement's is in the table", __FILE__, __LINE__);
}

enum status webhook_tell(struct command *command, struct db *db, void *service)
{
    const struct webhook_ask *ask = command->state;
    const struct db_rows *rows = db_result(db, ask->index);
    struct str verdict;

    if (db_rows_count(rows) == 0)
        return command_refuse(command, OUTCOME_NOT_FOUND, NULL, "There is nothing of that id");
    verdict = db_value(rows, 0, VERDICT);
    command->is_no_change = str_equal(verdict, STR("same"));
    if (!str_equal(verdict, STR("ok")) && !command->is_no_change)
        return refuse_verdict(command, verdict);
    write_answer(command, ask, db_value(rows, 0, ANSWER));
    return ST_OK;
}

enum status webhook_tell_work(struct command *command, struct db *db, void *service)
{
    const enum status st = webhook_tell(command, db, service);

    if (st == ST_OK)
        command->doorbell = SUBJECT_NOTICE_EVENTS;
    return st;
}

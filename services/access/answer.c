/*
 * The steps that all commands share: from a judged command to its statement, and from the row that
 * comes back to the reply.
 */
#include <string.h>

#include "common/base/log.h"
#include "common/wire/fields.h"
#include "common/wire/json.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/access/access.h"

/* A batch takes the advisory locks of grants first, and then whatever locks rows. */
#define ORDER_OF_ROWS (UINT64_C(1) << 63)

enum column { VERDICT, ANSWER, SCOPE };

/* What a statement found instead of doing its work; besides these there are "ok" and "same", which
   found it done. */
static const struct verdict {
    struct str name;
    enum outcome outcome;
    const char *field, *message;
} verdicts[] = {
    {STR("empty_allowlist"), OUTCOME_PARAMETER_INVALID, "ip_allowlist",
     "must not be empty while the list is on"},
    {STR("would_lock_out"), OUTCOME_WOULD_LOCK_OUT, "ip_allowlist",
     "does not hold your own address: confirm that it is to be shut out"},
    {STR("last_owner"), OUTCOME_LAST_OWNER, NULL, "An organization keeps an owner"},
    {STR("insufficient_role"), OUTCOME_INSUFFICIENT_ROLE, NULL, "Your role does not allow this"},
    {STR("key_ended"), OUTCOME_CONFLICT, NULL, "The key has ended: it was revoked or has expired"},
    {STR("email_taken"), OUTCOME_CONFLICT, "email", "belongs to another user of the organization"},
};

/* The last 8 bytes of an id are random. */
static uint64_t number_of(const struct uuid *organization_id)
{
    uint64_t number;

    memcpy(&number, organization_id->b + 8, sizeof(number));
    return number;
}

uint64_t access_order_of_grants(const struct uuid *organization_id)
{
    return (number_of(organization_id) & ~ORDER_OF_ROWS) | 1;
}

struct access_ask *access_for_organization(struct command *command, enum access_sql statement)
{
    struct access_ask *ask;

    if (uuid_is_nil(&command->caller.organization_id)) {
        command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, HEADER_ORGANIZATION, "is required");
        return NULL;
    }
    ask = ARENA_NEW(command->arena, struct access_ask);
    ask->statement = statement;
    command->lock_order = number_of(&command->caller.organization_id) | ORDER_OF_ROWS;
    params_add_id(&ask->params, command->arena, &command->caller.organization_id);
    command->state = ask;
    return ask;
}

struct list {
    struct str before;
};

static const struct field list_fields[] = {
    {.name = "before", .kind = FIELD_UUID, .offset = offsetof(struct list, before)},
};

enum status access_list_before(struct command *command, struct access_ask *ask)
{
    struct str body = command->body.n > 0 ? command->body : STR("{}");
    struct list list = {0};

    if (!fields_read_body(body, list_fields, 1, &list, &command->problems))
        return command_refuse_all(command, fields_outcome(&command->problems));
    params_add(&ask->params, list.before);
    return ST_OK;
}

void access_ask(struct command *command, struct db *db, void *service)
{
    struct access_ask *ask = command->state;

    if (ask->locks)
        db_add(db, SQL_LOCK_ORGANIZATION, ask->params.at, 1);
    ask->index = db_add(db, (int)ask->statement, ask->params.at, ask->params.n);
}

void access_write(struct command *command, struct str object, const char *name, struct str secret)
{
    if (name == NULL) {
        buf_add(&command->reply, object);
        return;
    }
    must(object.n > 2 && object.p[object.n - 1] == '}');
    object.n--;
    buf_add(&command->reply, object);
    json_add_key(&command->reply, name);
    json_add_string(&command->reply, secret);
    buf_char(&command->reply, '}');
}

static void write_answer(struct command *command, const struct access_ask *ask,
                         const struct db_rows *rows)
{
    struct str object = db_value(rows, 0, ANSWER);
    bool of_reader =
        ask->secret_of_reader.n > 0 && str_equal(db_value(rows, 0, SCOPE), STR("read"));

    access_write(command, object, ask->secret_name,
                 of_reader ? ask->secret_of_reader : ask->secret);
}

static enum status refuse_verdict(struct command *command, struct str name)
{
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        const struct verdict *verdict = &verdicts[i];

        if (str_equal(name, verdict->name))
            return command_refuse(command, verdict->outcome, verdict->field, "%s",
                                  verdict->message);
    }
    log_bug("a verdict of the statement's is in the table", __FILE__, __LINE__);
}

enum status access_refuse_role(struct command *command)
{
    return refuse_verdict(command, STR("insufficient_role"));
}

static enum status tell(struct command *command, struct db *db, enum outcome none,
                        const char *none_message)
{
    const struct access_ask *ask = command->state;
    const struct db_rows *rows = db_result(db, ask->index);
    struct str verdict;

    if (db_rows_count(rows) == 0)
        return command_refuse(command, none, NULL, "%s", none_message);
    verdict = db_value(rows, 0, VERDICT);
    command->is_no_change = str_equal(verdict, STR("same"));
    if (!str_equal(verdict, STR("ok")) && !command->is_no_change)
        return refuse_verdict(command, verdict);
    write_answer(command, ask, rows);
    return ST_OK;
}

enum status access_tell(struct command *command, struct db *db, void *service)
{
    return tell(command, db, OUTCOME_NOT_FOUND,
                "The organization, or what is named in it, does not exist");
}

enum status access_tell_change(struct command *command, struct db *db, void *service)
{
    enum status st = access_tell(command, db, service);

    if (st == ST_OK)
        command->doorbell = SUBJECT_NOTICE_ACCESS;
    return st;
}

enum status authenticate_tell(struct command *command, struct db *db, void *service)
{
    return tell(command, db, OUTCOME_UNAUTHORIZED, "The API key is not valid");
}

enum status session_check_tell(struct command *command, struct db *db, void *service)
{
    return tell(command, db, OUTCOME_UNAUTHORIZED, "The session has ended");
}

#include "tests/support/toy.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/trail/trail.h"

const char toy_schema[] =
    "CREATE SCHEMA audit;"
    "CREATE TABLE audit.entries (organization_id uuid, created_at timestamptz, request_id uuid,"
    " api_key_id uuid NOT NULL, operation text NOT NULL, http_status smallint NOT NULL,"
    " outcome text NOT NULL, denial_reason text, conversation_id uuid, contact_id uuid,"
    " PRIMARY KEY (organization_id, created_at, request_id));"
    "CREATE TABLE audit.changes (organization_id uuid, id uuid PRIMARY KEY, who text NOT NULL,"
    " user_id uuid, change text NOT NULL, target text, detail json NOT NULL, address text);"
    "CREATE TABLE toy (id text, seq bigserial);"
    "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;"
    "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON toy DEFERRABLE INITIALLY DEFERRED"
    " FOR EACH ROW WHEN (NEW.id = 'slow-commit') EXECUTE FUNCTION slow();";

const struct postgres_template toy_template = {.name = "toy", .script = toy_schema};

enum { PUT, BLOCK, COUNT, STATEMENTS };

static const struct db_statement statements[STATEMENTS] = {
    {"put", "INSERT INTO toy (id) SELECT $1::text"
            " WHERE CASE WHEN $1::text = 'bad' THEN 1 / (length($1::text) - 3) = 1"
            " WHEN $1::text LIKE 'long-%'"
            " THEN pg_sleep(substr($1::text, 6)::float8 / 1000) IS NOT NULL ELSE true END"},
    {"block", "SELECT pg_advisory_xact_lock(1)"},
    {"count", "SELECT count(*) FROM toy"},
};

static int tries; /* of the command that loses races; one actor, one thread */

static bool is(const struct command *command, const char *prefix)
{
    return str_starts(command->body, str_of(prefix));
}

static long number_of(const struct command *command)
{
    return strtol(strchr(arena_cstr(command->arena, command->body), '-') + 1, NULL, 10);
}

static enum status put_judge(struct command *command, void *service)
{
    if (command->body.n == 0)
        return command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, "body", "must not be empty");
    if (is(command, "order-"))
        command->lock_order = (uint64_t)number_of(command);
    command->conversation_id = uuid_v7(clock_us());
    return ST_OK;
}

static bool loses(const struct command *command)
{
    return is(command, "retry-") && tries < number_of(command);
}

static void put_ask(struct command *command, struct db *db, void *service)
{
    if (!loses(command))
        db_add(db, PUT, &command->body, 1);
}

/* "more-X" puts X as well, once it is known that the first was put. */
static enum status put_more(struct command *command, struct db *db)
{
    struct str more = str_skip(command->body, strlen("more-"));

    db_add(db, PUT, &more, 1);
    return db_run(db);
}

static enum status put_tell(struct command *command, struct db *db, void *service)
{
    enum status st = is(command, "more-") ? put_more(command, db) : ST_OK;

    if (st != ST_OK)
        return st;
    if (loses(command)) {
        tries++;
        return ST_RETRY;
    }
    command->outcome = OUTCOME_CREATED;
    if (is(command, "ring"))
        command->doorbell = TOY_DOORBELL;
    buf_add(&command->reply, command->body);
    return ST_OK;
}

static void block_ask(struct command *command, struct db *db, void *service)
{
    db_add(db, BLOCK, NULL, 0);
    db_add(db, PUT, &STR("block"), 1);
}

static void count_ask(struct command *command, struct db *db, void *service)
{
    size_t *index = ARENA_NEW(command->arena, size_t);

    *index = db_add(db, COUNT, NULL, 0);
    command->state = index;
}

static enum status count_tell(struct command *command, struct db *db, void *service)
{
    const size_t *index = command->state;

    buf_add(&command->reply, db_value(db_result(db, *index), 0, 0));
    return ST_OK;
}

static const struct route routes[] = {
    {TOY_PUT, OP_CONVERSATION_CREATE, CHANGE_NONE, true, put_judge, put_ask, put_tell, NULL},
    {TOY_BLOCK, OP_CONVERSATION_UPDATE, CHANGE_NONE, true, NULL, block_ask, put_tell, NULL},
    {TOY_COUNT, OP_CONVERSATION_GET, CHANGE_NONE, false, NULL, count_ask, count_tell, NULL},
};

const struct service toy_service = {
    .name = "toy",
    .mailbox = "v1.toy.*",
    .routes = routes,
    .n_routes = sizeof(routes) / sizeof(routes[0]),
    .statements = statements,
    .n_statements = STATEMENTS,
    .ledger = &trail,
};

#include "tests/support/sample_service.h"

#include <stdlib.h>
#include <string.h>

#include "common/audit_log/audit_log.h"
#include "common/base/clock.h"
#include "common/db/params.h"

static const char schema[] =
    "CREATE SCHEMA audit;"
    "CREATE TABLE audit.entries (organization_id uuid, created_at timestamptz, request_id uuid,"
    " api_key_id uuid NOT NULL, operation text NOT NULL, http_status smallint NOT NULL,"
    " outcome text NOT NULL, denial_reason text, conversation_id uuid, contact_id uuid,"
    " PRIMARY KEY (organization_id, created_at, request_id));"
    "CREATE TABLE audit.changes (organization_id uuid, id uuid PRIMARY KEY, who text NOT NULL,"
    " user_id uuid, change text NOT NULL, target text, detail json NOT NULL, address text);"
    "CREATE TABLE sample (id text, seq bigserial);"
    "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;"
    "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON sample DEFERRABLE INITIALLY DEFERRED"
    " FOR EACH ROW WHEN (NEW.id = 'slow-commit') EXECUTE FUNCTION slow();"
    /* The real one ends sessions of the services' roles:
       services/migrate/sql/create_functions.sql. */
    "CREATE SCHEMA migration;"
    "CREATE FUNCTION migration.end_hung_sessions() RETURNS SETOF text LANGUAGE sql AS"
    " $$ SELECT pid::text FROM pg_stat_activity, pg_terminate_backend(pid)"
    "    WHERE application_name = 'hung' AND datname = current_database() $$;";

const struct postgres_template sample_template = {
    .name = "sample",
    .roles = {"conv_audit", "conv_conversation", "conv_search", "conv_webhook"},
    .migrations = {"common/cell/migrations/*.sql"},
    .script = schema,
};

enum { PUT, PUT_ALL, WAIT_LONG, BLOCK, COUNT, FILL, STATEMENTS };

#define DOES                                                                                       \
    "CASE WHEN id = 'bad' THEN 1 / (length(id) - 3) = 1"                                           \
    " WHEN id LIKE 'long-%' THEN pg_sleep(substr(id, 6)::float8 / 1000) IS NOT NULL"               \
    " WHEN id LIKE 'lock-%' THEN pg_advisory_xact_lock(substr(id, 6)::int) IS NOT NULL"            \
    " ELSE true END"

static const struct db_statement statements[STATEMENTS] = {
    {"put", "INSERT INTO sample (id) SELECT id FROM (VALUES ($1::text)) AS t (id) WHERE " DOES,
     NULL},
    {"put_all",
     "INSERT INTO sample (id) SELECT id FROM unnest($1::text[]) WITH ORDINALITY AS t (id, n)"
     " WHERE " DOES " ORDER BY n",
     NULL},
    {"wait_long_for_locks",
     "SELECT set_config('lock_timeout', '0', true) AS lock, set_config('statement_timeout', '0', "
     "true) AS statement",
     "lock statement"},
    {"block", "SELECT pg_advisory_xact_lock(1) AS nothing", "nothing"},
    {"count", "SELECT count(*) FROM sample", "count"},
    {"fill", "SELECT repeat('x', $1::int) AS text", "text"},
};

static int tries; /* of the command that loses races; there is one actor, on one thread */

static bool is(const struct command *command, const char *prefix)
{
    return str_starts(command->body, str_of(prefix));
}

static long number_of(const struct command *command)
{
    return strtol(strchr(arena_cstr(command->arena, command->body), '-') + 1, NULL, 10);
}

static enum status put_parse(struct command *command, void *service)
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

static void put_query(struct command *command, struct db *db, void *service)
{
    if (!loses(command))
        db_add(db, PUT, PARAMS(command->body));
}

/* "rest-X" also puts X, in query_rest. */
static void put_query_rest(struct command *command, struct db *db, void *service)
{
    const struct str rest = str_skip(command->body, strlen("rest-"));

    if (is(command, "rest-"))
        db_add(db, PUT, PARAMS(rest));
}

/* "more-X" also puts X, once the first row is known to be written. */
static enum status put_more(struct command *command, struct db *db)
{
    struct str more = str_skip(command->body, strlen("more-"));

    db_add(db, PUT, PARAMS(more));
    return db_run(db);
}

static enum status put_reply(struct command *command, struct db *db, void *service)
{
    enum status st = is(command, "more-") ? put_more(command, db) : ST_OK;

    if (st != ST_OK)
        return st;
    if (loses(command)) {
        tries++;
        return ST_RETRY;
    }
    command->outcome = OUTCOME_CREATED;
    if (is(command, "costs-"))
        command->cost = (uint32_t)number_of(command);
    if (is(command, "notify"))
        command->notice = SAMPLE_NOTICE;
    buf_add(&command->reply, command->body);
    return ST_OK;
}

static void put_all_query(struct command *const *commands, size_t n, struct db *db, void *service)
{
    struct buf ids;

    array_open(&ids, commands[0]->arena, 64);
    for (size_t i = 0; i < n; i++)
        array_add(&ids, commands[i]->body);
    db_add(db, PUT_ALL, PARAMS(array_close(&ids)));
}

static void block_query(struct command *command, struct db *db, void *service)
{
    db_add(db, WAIT_LONG, NULL);
    db_add(db, BLOCK, NULL);
    db_add(db, PUT, PARAMS(STR("block")));
}

static void count_query(struct command *command, struct db *db, void *service)
{
    size_t *index = ARENA_NEW(command->arena, size_t);

    *index = db_add(db, COUNT, NULL);
    command->state = index;
}

static void fill_query(struct command *command, struct db *db, void *service)
{
    size_t *index = ARENA_NEW(command->arena, size_t);

    *index = db_add(db, FILL, PARAMS(command->body));
    command->state = index;
}

/* The value returned by the only statement. */
static enum status value_reply(struct command *command, struct db *db, void *service)
{
    const size_t *index = command->state;

    buf_add(&command->reply, db_value(db_result(db, *index), 0, 0));
    return ST_OK;
}

static const struct command_handler put = {
    .subject = SAMPLE_PUT,
    .operation = OP_CONVERSATION_CREATE,
    .writes = true,
    .parse = put_parse,
    .query = put_query,
    .query_rest = put_query_rest,
    .reply = put_reply,
};

static const struct command_handler put_all = {
    .subject = SAMPLE_PUT_ALL,
    .operation = OP_CONVERSATION_CREATE,
    .writes = true,
    .parse = put_parse,
    .reply = put_reply,
    .query_together = put_all_query,
};

static const struct command_handler block = {
    .subject = SAMPLE_BLOCK,
    .operation = OP_CONVERSATION_UPDATE,
    .writes = true,
    .query = block_query,
    .reply = put_reply,
};

static const struct command_handler count = {
    .subject = SAMPLE_COUNT,
    .operation = OP_CONVERSATION_GET,
    .query = count_query,
    .reply = value_reply,
};

static const struct command_handler fill = {
    .subject = SAMPLE_FILL,
    .operation = OP_CONVERSATION_GET,
    .query = fill_query,
    .reply = value_reply,
};

static const struct command_handler *const handlers[] = {&put, &put_all, &block, &count, &fill};

const struct service sample_service = {
    .name = "sample",
    .handlers = handlers,
    .n_handlers = ARRAY_SIZE(handlers),
    .statements = statements,
    .n_statements = STATEMENTS,
    .audit_sink = &audit_log,
};

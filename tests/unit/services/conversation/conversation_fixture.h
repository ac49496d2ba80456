/*
 * conversation_fixture - runs a handler with its statements on a real database, as the service's
 * own role. Header-only; every test has a separate database.
 */
#ifndef TESTS_UNIT_SERVICES_CONVERSATION_CONVERSATION_FIXTURE_H
#define TESTS_UNIT_SERVICES_CONVERSATION_CONVERSATION_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "conversation_sql.h"
#include "services/conversation/conversation.h"
#include "tests/support/postgres_server.h"

#define ORG    "01920000-0000-7000-8000-000000000001"
#define OTHER  "01920000-0000-7000-8000-000000000002"
#define NOBODY "01920000-0000-7000-8000-00000000ffff"

/* Bodies: a create with these members of `from`; a contact by its external id. */
#define CREATE(external_id, from) "{\"external_id\":\"" external_id "\",\"from\":{" from "}}"
#define USER(id)                  "\"external_id\":\"" id "\""

static const struct postgres_template template = {
    .name = "conversation",
    .roles = {"conv_audit", "conv_conversation", "conv_search", "conv_webhook"},
    .migrations = {"common/cell/migrations/*.sql", "services/audit/migrations/*.sql",
                   "services/webhook/migrations/*.sql", "services/conversation/migrations/*.sql"},
};
static struct postgres_server server;
static struct arena arena;
static struct db *db, *other_db;

static inline char *file_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 65536);

    cr_assert_not_null(file, "%s: run from the root of the repository", path);
    cr_assert_gt(fread(text, 1, 65535, file), 0);
    fclose(file);
    return text;
}

static inline struct db *connect(void)
{
    return postgres_connect_as(&server, "conv_conversation", conversation_sql,
                               CONVERSATION_SQL_COUNT);
}

/* An endpoint of one of the two organizations, for creates among other events. */
#define ENDPOINT                                                                                   \
    "INSERT INTO webhook.endpoints (organization_id, id, url, events, signing, secret) "           \
    "VALUES ('" ORG "', gen_random_uuid(), '', '{ai.handoff,conversation.created}', false, '')"

/* Conversations without their contact; no constraint of the database prevents them. */
#define STRAYS                                                                                     \
    "SELECT count(*) FROM conversation.conversations AS v WHERE contact_id IS NOT NULL AND NOT "   \
    "EXISTS (SELECT FROM conversation.contacts AS k WHERE k.organization_id = v.organization_id "  \
    "AND k.id = v.contact_id)"

static inline void start(void)
{
    arena_init(&arena, 64 << 20);
    postgres_server_share(&server, &template);
    postgres_do(server.url, ENDPOINT);
    db = connect();
    other_db = connect();
}

static inline void stop(void)
{
    db_free(db);
    db_free(other_db);
    cr_expect_eq(postgres_integer(server.url, STRAYS), 0, "conversations without their contacts");
    postgres_server_stop(&server);
    arena_release(&arena);
}

/* -- one command ----------------------------------------------------------------------------- */

struct call {
    const struct command_handler *handler;
    const char *organization, *id, *body;
};

static inline struct command *parse(struct arena *in, struct call call)
{
    struct command *const command = ARENA_NEW(in, struct command);

    *command = (struct command){.handler = call.handler,
                                .arena = in,
                                .resource_id = str_of(call.id),
                                .body = str_of(call.body)};
    errors_init(&command->errors, in);
    cr_assert(uuid_parse(str_of(call.organization), &command->caller.organization_id));
    cr_assert_eq(command_parse(command, NULL) == ST_OK, command->errors.n == 0);
    return command;
}

/* Parses a command and queues its statements. */
static inline struct command *begin(struct db *on, struct arena *in, struct call call)
{
    struct command *command = parse(in, call);

    if (command->errors.n > 0)
        return command;
    if (call.handler->query_together)
        call.handler->query_together(&command, 1, on, NULL);
    else if (call.handler->query)
        call.handler->query(command, on, NULL);
    return command;
}

/* Runs one command in a separate transaction. */
static inline struct command *run(struct call call)
{
    struct command *command;

    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    command = begin(db, &arena, call);
    cr_assert_eq(db_run(db), ST_OK, "%s %s", call.body, db_last_sqlstate(db));
    if (command->errors.n == 0)
        cr_assert_neq(command->handler->reply(command, db, NULL), ST_RETRY);
    cr_assert_eq(db_commit(db), ST_OK);
    return command;
}

/* Runs commands of one handler in one transaction, as a batch that queries them together. */
static inline void run_batch(struct command *const *commands, size_t n)
{
    const struct command_handler *const handler = commands[0]->handler;

    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    handler->query_together(commands, n, db, NULL);
    cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
    for (size_t i = 0; i < n; i++)
        cr_assert_neq(handler->reply(commands[i], db, NULL), ST_RETRY);
    cr_assert_eq(db_commit(db), ST_OK);
}

static inline struct command *run_create(const char *body)
{
    return run((struct call){&conversation_create, ORG, NULL, body});
}

static inline struct command *run_on(const struct command_handler *handler, const char *body)
{
    return run((struct call){handler, ORG, NULL, body});
}

static const char *reply_of(const struct command *command)
{
    return arena_cstr(&arena, buf_str(&command->reply));
}

static inline void assert_outcome(const struct command *command, enum outcome outcome,
                                  const char *field)
{
    const char *const got = command->errors.n > 0 ? command->errors.at[0].field : NULL;

    cr_assert_eq(command->outcome, outcome, "%s: %s", outcome_name(command->outcome),
                 command->errors.n > 0 ? command->errors.at[0].message : "");
    if (field == NULL)
        cr_assert_null(got, "%s", got);
    else
        cr_assert_str_eq(got, field);
}

static inline void assert_reply_has(const struct command *command, const char *piece)
{
    cr_assert_not_null(strstr(reply_of(command), piece), "%s: %s", piece, reply_of(command));
}

static const char *text_of(const struct uuid *id)
{
    char *const text = arena_alloc(&arena, UUID_TEXT + 1);

    uuid_format(id, text);
    return text;
}

static inline int64_t count(const char *query)
{
    return postgres_integer(server.url, query);
}

static inline struct command *read_back(const struct command *of)
{
    return run((struct call){&conversation_get, ORG, text_of(&of->conversation_id), NULL});
}

static inline struct command *run_update(const struct command *of, const char *body)
{
    return run((struct call){&conversation_update, ORG, text_of(&of->conversation_id), body});
}

static inline struct command *run_with_id(const struct command_handler *handler,
                                          const struct uuid *id, const char *more)
{
    return run_on(handler, arena_printf(&arena, "{\"id\":\"%s\"%s}", text_of(id), more));
}

#endif

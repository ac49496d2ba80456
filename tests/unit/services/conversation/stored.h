/*
 * stored - runs a handler with its statements on a real database, as the service's own role.
 * Header-only; every test has a database of its own.
 */
#ifndef TESTS_UNIT_SERVICES_CONVERSATION_STORED_H
#define TESTS_UNIT_SERVICES_CONVERSATION_STORED_H

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

static const struct route create = {
    .judge = create_judge, .ask_together = create_ask, .tell = create_tell};
static const struct route get = {.judge = get_judge, .ask_together = get_ask, .tell = get_tell};
static const struct route update = {.judge = update_judge, .ask = update_ask, .tell = update_tell};
static const struct route open_ = {.judge = open_judge, .ask = open_ask, .tell = open_tell};
static const struct route append = {.judge = append_judge, .ask = append_ask, .tell = append_tell};
static const struct route set_status = {
    .judge = set_status_judge, .ask = set_status_ask, .tell = set_status_tell};
static const struct route delete = {.judge = delete_judge, .ask = delete_ask, .tell = delete_tell};
static const struct route erase = {
    .judge = erase_contact_judge, .ask = erase_contact_ask, .tell = erase_contact_tell};

static const struct route inbox = {.judge = inbox_judge, .ask = inbox_ask, .tell = inbox_tell};
static const struct route view = {.judge = view_judge, .ask = view_ask, .tell = view_tell};

static const struct postgres_template template = {
    .name = "conversation",
    .roles = {"conv_conversation", "conv_search", "conv_webhook"},
    .migrations = {"services/webhook/migrations/*.sql", "services/conversation/migrations/*.sql"},
};
static struct postgres_server server;
static struct arena arena;
static struct db *db, *neighbour;

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
    char url[POSTGRES_URL_MOST];
    struct db *made;

    postgres_url_as(&server, "conv_conversation", url);
    made = db_new(&(struct db_options){.url = url,
                                       .name = "test",
                                       .statements = conversation_sql,
                                       .n_statements = CONVERSATION_SQL_COUNT});
    cr_assert_eq(db_connect(made, 30000), ST_OK);
    return made;
}

static inline void start(void)
{
    arena_init(&arena, 64 << 20);
    postgres_server_share(&server, &template);
    db = connect();
    neighbour = connect();
}

static inline void stop(void)
{
    db_free(db);
    db_free(neighbour);
    postgres_server_stop(&server);
    arena_release(&arena);
}

/* -- one command ----------------------------------------------------------------------------- */

struct ask {
    const struct route *route;
    const char *organization, *id, *body;
};

static inline struct command *judge(struct arena *in, struct ask ask)
{
    struct command *const command = ARENA_NEW(in, struct command);

    *command = (struct command){
        .route = ask.route, .arena = in, .resource_id = str_of(ask.id), .body = str_of(ask.body)};
    problems_init(&command->problems, in);
    cr_assert(uuid_parse(str_of(ask.organization), &command->caller.organization_id));
    cr_assert_eq(ask.route->judge(command, NULL) == ST_OK, command->problems.n == 0);
    return command;
}

/* Judges a command and queues its statements. */
static inline struct command *begin(struct db *on, struct arena *in, struct ask ask)
{
    struct command *command = judge(in, ask);

    if (command->problems.n > 0)
        return command;
    if (ask.route->ask_together)
        ask.route->ask_together(&command, 1, on, NULL);
    else if (ask.route->ask)
        ask.route->ask(command, on, NULL);
    return command;
}

/* Runs one command in a transaction of its own. */
static inline struct command *run(struct ask ask)
{
    struct command *command;

    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    command = begin(db, &arena, ask);
    cr_assert_eq(db_run(db), ST_OK, "%s %s", ask.body, db_last_sqlstate(db));
    if (command->problems.n == 0)
        cr_assert_neq(command->route->tell(command, db, NULL), ST_RETRY);
    cr_assert_eq(db_commit(db), ST_OK);
    return command;
}

/* Runs commands of one route in one transaction, as a batch that asks for them together. */
static inline void run_batch(struct command *const *commands, size_t n)
{
    const struct route *const route = commands[0]->route;

    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    route->ask_together(commands, n, db, NULL);
    cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
    for (size_t i = 0; i < n; i++)
        cr_assert_neq(route->tell(commands[i], db, NULL), ST_RETRY);
    cr_assert_eq(db_commit(db), ST_OK);
}

static inline struct command *run_create(const char *body)
{
    return run((struct ask){&create, ORG, NULL, body});
}

static inline struct command *run_on(const struct route *route, const char *body)
{
    return run((struct ask){route, ORG, NULL, body});
}

static const char *reply_of(const struct command *command)
{
    return arena_cstr(&arena, buf_str(&command->reply));
}

static inline void assert_outcome(const struct command *command, enum outcome outcome,
                                  const char *field)
{
    const char *const got = command->problems.n > 0 ? command->problems.at[0].field : NULL;

    cr_assert_eq(command->outcome, outcome, "%s: %s", outcome_name(command->outcome),
                 command->problems.n > 0 ? command->problems.at[0].message : "");
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
    return run((struct ask){&get, ORG, text_of(&of->conversation_id), NULL});
}

static inline struct command *run_update(const struct command *of, const char *body)
{
    return run((struct ask){&update, ORG, text_of(&of->conversation_id), body});
}

static inline struct command *run_with_id(const struct route *route, const struct uuid *id,
                                          const char *more)
{
    return run_on(route, arena_printf(&arena, "{\"id\":\"%s\"%s}", text_of(id), more));
}

#endif

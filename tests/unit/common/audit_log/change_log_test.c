/* What the log of changes records about a command, and how it is written. */
#include "common/audit_log/audit_log.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sample_service.h"

#define ID   "01890a5d-ac96-774b-bcce-b302099a8057"
#define ID_2 "01890a5d-ac96-774b-bcce-b302099a8058"

static struct arena arena;

static void open_arena(void)
{
    arena_init(&arena, 16 << 20);
}

static void release_arena(void)
{
    arena_release(&arena);
}

TestSuite(change_log, .init = open_arena, .fini = release_arena);

static struct command *made(enum change change, const char *body, const char *reply)
{
    struct command *command = ARENA_NEW(&arena, struct command);
    struct command_handler *handler = ARENA_NEW(&arena, struct command_handler);

    handler->change = change;
    *command = (struct command){.handler = handler, .arena = &arena, .body = str_of(body)};
    buf_init(&command->reply, &arena, 64);
    buf_add(&command->reply, str_of(reply));
    errors_init(&command->errors, &arena);
    command->caller.organization_id = uuid_v7(clock_us());
    return command;
}

static const char *target_of(const struct command *command)
{
    return arena_cstr(&arena, change_entry_of(command, &arena).target);
}

static const char *detail_of(const struct command *command)
{
    return arena_cstr(&arena, change_entry_of(command, &arena).detail);
}

Test(change_log, says_what_the_table_names_and_no_secret)
{
    struct command *command =
        made(CHANGE_KEY_CREATE, "{\"name\":\"n\",\"scope\":\"full\"}",
             "{\"id\":\"" ID "\",\"name\":\"a \\\"b\\\"\",\"scope\":\"full\",\"prefix\":\"svc_\","
             "\"expires_at\":null,\"token\":\"svc_live_secret\"}");

    cr_expect_str_eq(target_of(command), ID);
    cr_expect_str_eq(detail_of(command), "{\"name\":\"a \\\"b\\\"\",\"scope\":\"full\"}");
}

Test(change_log, never_takes_a_password_that_was_asked_for)
{
    struct command *command =
        made(CHANGE_USER_CREATE, "{\"email\":\"a@b\",\"role\":\"owner\",\"password\":\"secret12\"}",
             "{\"id\":\"" ID "\",\"email\":\"a@b\",\"role\":\"owner\",\"password\":\"secret12\"}");

    cr_expect_null(strstr(detail_of(command), "secret"));
}

Test(change_log, takes_the_target_from_the_request_first)
{
    struct command *command = made(CHANGE_KEY_ROTATE, "{\"id\":\"" ID "\",\"overlap\":\"1h\"}",
                                   "{\"id\":\"" ID_2 "\",\"name\":\"n\",\"scope\":\"read\"}");

    cr_expect_str_eq(target_of(command), ID);
    command->change_target = STR("other");
    cr_expect_str_eq(target_of(command), "other");
}

Test(change_log, puts_notes_before_the_rest)
{
    struct command *command =
        made(CHANGE_CONVERSATION_SET_STATUS, "{\"id\":\"" ID "\",\"status\":\"waiting\"}", "{}");

    command_note(command, "was", STR("active"));
    command_note(command, "nothing", STR_NONE);
    cr_expect_str_eq(detail_of(command), "{\"was\":\"active\",\"status\":\"waiting\"}");
}

Test(change_log, is_an_empty_object_if_there_is_nothing_to_report)
{
    cr_expect_str_eq(detail_of(made(CHANGE_CONTACT_ERASE, "", "")), "{}");
    cr_expect_null(change_entry_of(made(CHANGE_CONTACT_ERASE, "", "[1]"), &arena).target.p);
}

Test(change_log, records_only_the_size_of_long_values)
{
    struct buf body;

    buf_init(&body, &arena, 4096);
    buf_add(&body, STR("{\"ip_allowlist\":["));
    for (int i = 0; i < 200; i++)
        buf_printf(&body, "%s\"192.0.2.%d\"", i > 0 ? "," : "", i);
    buf_add(&body, STR("]}"));
    cr_expect_str_eq(detail_of(made(CHANGE_POLICY_SET, arena_cstr(&arena, buf_str(&body)), "{}")),
                     "{\"ip_allowlist\":{\"elements\":200}}");
    cr_expect_str_eq(detail_of(made(CHANGE_POLICY_SET, "{\"ip_allowlist\":[\"192.0.2.1\"]}", "{}")),
                     "{\"ip_allowlist\":[\"192.0.2.1\"]}");
}

/* -- against a real table ---------------------------------------------------------------------- */

static struct postgres_server server;
static struct db *db;

static void setup(void)
{
    static struct db_statement statements[AUDIT_SINK_STATEMENTS];

    open_arena();
    postgres_server_share(&server, &sample_template);
    statements[0] = *audit_log.entries;
    statements[1] = *audit_log.changes;
    db = db_new(&(struct db_options){.url = server.url,
                                     .name = "change_log_test",
                                     .statements = statements,
                                     .n_statements = AUDIT_SINK_STATEMENTS});
    cr_assert_eq(db_connect(db, 30000), ST_OK);
}

static void teardown(void)
{
    db_free(db);
    postgres_server_stop(&server);
    release_arena();
}

static int64_t count(const char *condition)
{
    return postgres_integer(
        server.url, arena_printf(&arena, "SELECT count(*) FROM audit.changes WHERE %s", condition));
}

Test(change_log, are_written_for_commands_that_succeeded_and_changed_something, .init = setup,
     .fini = teardown)
{
    struct command *commands[] = {
        made(CHANGE_KEY_CREATE, "{}",
             "{\"id\":\"" ID "\",\"name\":\"back\\\\slash, \\\"quotes\\\" and {braces}\"}"),
        made(CHANGE_NONE, "{}", "{}"),
        made(CHANGE_KEY_REVOKE, "{\"id\":\"" ID "\"}", ""),
        made(CHANGE_POLICY_SET, "{\"require_https\":true}", "{}"),
    };

    command_refuse(commands[2], OUTCOME_NOT_FOUND, NULL, "No such key");
    commands[3]->caller.user_email = STR("o'hara,\"{}\\@example.com");
    commands[3]->caller.address = STR("2001:db8::1");
    cr_assert(uuid_parse(STR(ID_2), &commands[3]->caller.user_id));
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    audit_log.add(db, &(struct audit_statements){.entries = 0, .changes = 1}, commands, 4, &arena);
    cr_assert_eq(db_commit(db), ST_OK);

    cr_expect_eq(count("true"), 2);
    cr_expect_eq(count("who = 'operator' AND user_id IS NULL AND address IS NULL"
                       " AND change = 'key.create' AND target = '" ID "'"
                       " AND detail->>'name' = 'back\\slash, \"quotes\" and {braces}'"),
                 1);
    cr_expect_eq(count("who = 'o''hara,\"{}\\@example.com' AND user_id = '" ID_2 "'"
                       " AND address = '2001:db8::1' AND change = 'policy.set' AND target IS NULL"
                       " AND detail::text = '{\"require_https\":true}'"),
                 1);
}

Test(change_log, cost_no_statement_if_there_are_none, .init = setup, .fini = teardown)
{
    struct command *command = made(CHANGE_NONE, "{}", "{}");

    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    audit_log.add(db, &(struct audit_statements){.entries = 0, .changes = 1}, &command, 1, &arena);
    cr_assert_eq(db_commit(db), ST_OK);
    cr_expect_eq(count("true"), 0);
}

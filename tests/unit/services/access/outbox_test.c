/* Changes that leave a real database over a real bus, for an audit service that this test fakes. */
#include "services/access/outbox.h"

#include <criterion/criterion.h>
#include <string.h>

#include "access_sql.h"
#include "common/base/clock.h"
#include "common/db/params.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/access/lane.h"
#include "tests/support/nats_server.h"
#include "tests/support/postgres_server.h"

#define ORG   "01920000-0000-7000-8000-000000000001"
#define OTHER "01920000-0000-7000-8000-000000000002"
#define ID(n) "01920000-0000-7000-8000-00000000001" #n

enum { SOON_US = 30 * 1000 * 1000 };

static const struct postgres_template template = {
    .name = "access",
    .roles = {"conv_access"},
    .migrations = {"services/access/migrations/*.sql"},
};
static struct postgres_server server;
static struct nats_server nats;
static char role_url[POSTGRES_URL_MAX];
static struct bus *bus;
static struct bus_mailbox *mailbox; /* of the audit service */
static struct arena arena;
static bool is_running;

static void open_all(void)
{
    arena_init(&arena, 64 << 20);
    postgres_server_share(&server, &template);
    postgres_url_as(&server, "conv_access", role_url);
    nats_server_prepare(&nats, NULL);
    nats_server_start(&nats);
    bus = bus_connect(&(struct bus_options){.url = nats.url, .name = "audit-0"});
    cr_assert_not_null(bus);
}

static void serve(void)
{
    mailbox = bus_serve(bus, SUBJECT_AUDIT_RECORD, "audit");
}

static void start_outbox(void)
{
    static const struct bus_settings plain;
    static struct process process = {.name = "access-0", .instance = "0", .bus_settings = &plain};

    process.bus_url = nats.url;
    process.database_url = role_url;
    cr_assert_eq(outbox_start(&process), ST_OK);
    is_running = true;
}

static void stop_outbox(void)
{
    outbox_stop();
    is_running = false;
}

/* Starts the outbox and the audit service. */
static void start(void)
{
    serve();
    start_outbox();
}

static void close_all(void)
{
    if (is_running)
        stop_outbox();
    bus_free(bus);
    nats_server_stop(&nats);
    postgres_server_stop(&server);
    arena_release(&arena);
}

TestSuite(outbox, .init = open_all, .fini = close_all);

static void say(const char *statement)
{
    postgres_do(server.url, statement);
}

static void await(const char *query)
{
    postgres_await(server.url, query);
}

/* Writes what an actor commits, without the wake-up. */
#define PUT(org, id, change)                                                                       \
    say("INSERT INTO access.outbox (organization_id, id, who, change, detail) VALUES ('" org       \
        "', '" id "', 'operator', '" change "', '{}')")
#define EMPTY "SELECT (count(*) = 0)::int FROM access.outbox"

static void ring(void)
{
    access_outbox.on_commit(NULL, NULL, 0);
}

static struct bus_message *next_of(struct bus_mailbox *from)
{
    const int64_t until_us = clock_mono_us() + SOON_US;
    struct bus_message *message;

    while ((message = bus_take(from)) == NULL) {
        cr_assert_lt(clock_mono_us(), until_us, "nothing came");
        bus_wait(bus, 50);
    }
    return message;
}

static struct bus_message *next(void)
{
    return next_of(mailbox);
}

static void answer(struct bus_message *message, const char *outcome)
{
    const struct bus_header header = {HEADER_OUTCOME, outcome};

    cr_assert_eq(bus_reply(bus, message, &header, 1, STR("")), ST_OK);
    (void)bus_flush(bus);
    bus_message_free(message);
}

static const char *body_of(const struct bus_message *message)
{
    return arena_cstr(&arena, bus_message_body(message));
}

static bool tells(const struct bus_message *message, const char *text)
{
    return strstr(body_of(message), text) != NULL;
}

/* -- replies ----------------------------------------------------------------------------------- */

/* What may pass by itself is sent again soon; every other outcome without success is a refusal. */
Test(outbox, judges_an_answer_by_its_outcome)
{
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        const enum outcome outcome = (enum outcome)i;
        const enum lane_verdict verdict = lane_judge(str_of(outcome_name(outcome)));

        if (outcome_code(outcome) == NULL)
            cr_expect_eq(verdict, LANE_IN_LOG, "%s", outcome_name(outcome));
        else if (outcome == OUTCOME_UNCERTAIN || outcome == OUTCOME_UNAVAILABLE ||
                 outcome == OUTCOME_BUSY)
            cr_expect_eq(verdict, LANE_LATER, "%s", outcome_name(outcome));
        else
            cr_expect_eq(verdict, LANE_REFUSED, "%s", outcome_name(outcome));
    }
    cr_expect_eq(lane_judge(STR_NONE), LANE_LATER, "nobody, or no reply");
    cr_expect_eq(lane_judge(STR("")), LANE_LATER);
    cr_expect_eq(lane_judge(STR("of a later version")), LANE_LATER);
}

/* -- sending ----------------------------------------------------------------------------------- */

Test(outbox, sends_waiting_changes_in_order_and_deletes_them)
{
    struct bus_message *message;

    start();
    say("INSERT INTO access.outbox (organization_id, id, who, user_id, change, target, detail,"
        " address) VALUES ('" OTHER
        "', '" ID(1) "', 'operator', NULL, 'policy.set', NULL,"
                     " '{\"require_https\":true}', NULL), ('" ORG "', '" ID(
                         2) "', 'o\"hara@example.com',"
                            " '" ORG "', 'key.create', '" ID(
                                9) "', '{\"name\":\"a \\\"b\\\"\"}', '192.0.2.7'), "
                                   "('" ORG "', '" ID(
                                       1) "', 'operator', NULL, 'key.revoke', '', '{}', NULL)");
    message = next();
    cr_expect_str_eq(
        body_of(message),
        "{\"changes\":[{\"organization_id\":\"" ORG "\",\"id\":\"" ID(
            1) "\",\"who\":\"operator\","
               "\"change\":\"key.revoke\",\"target\":\"\",\"detail\":{}},"
               "{\"organization_id\":\"" ORG "\",\"id\":\"" ID(
                   2) "\",\"who\":\"o\\\"hara@example.com\","
                      "\"user_id\":\"" ORG "\",\"change\":\"key.create\",\"target\":\"" ID(
                          9) "\","
                             "\"detail\":{\"name\":\"a \\\"b\\\"\"},\"address\":\"192.0.2.7\"},"
                             "{\"organization_id\":\"" OTHER
                             "\",\"id\":\"" ID(1) "\",\"who\":\"operator\","
                                                  "\"change\":\"policy.set\",\"detail\":{\"require_"
                                                  "https\":true}}]}");
    cr_expect(bus_message_header(message, HEADER_REQUEST_ID).n == UUID_TEXT);
    cr_expect(bus_message_header(message, HEADER_DEADLINE).n > 0);
    cr_expect_eq(postgres_integer(server.url, "SELECT count(*) FROM access.outbox"), 3);
    answer(message, "ok");
    await(EMPTY);
}

/* Without wake-ups, polling once a second would take longer. */
Test(outbox, is_woken_by_a_commit)
{
    int64_t began_us;

    start();
    PUT(ORG, ID(0), "key.create");
    answer(next(), "ok");
    began_us = clock_mono_us();
    for (int i = 1; i <= 6; i++) {
        say(arena_printf(&arena,
                         "INSERT INTO access.outbox (organization_id, id, who, change, detail)"
                         " VALUES ('" ORG "', '01920000-0000-7000-8000-00000000001%d',"
                         " 'operator', 'key.create', '{}')",
                         i));
        ring();
        answer(next(), "ok");
    }
    cr_expect_lt(clock_mono_us() - began_us, 5 * INT64_C(1000000));
    await(EMPTY);
}

Test(outbox, keeps_trying_until_a_service_takes_the_command)
{
    start_outbox();
    PUT(ORG, ID(1), "key.create");
    await("SELECT (due_at > created_at)::int FROM access.outbox"); /* one attempt was made */
    serve();
    answer(next(), "ok");
    await(EMPTY);
}

Test(outbox, sends_temporarily_refused_changes_again)
{
    static const char *const outcomes[] = {"busy", "unavailable", "uncertain",
                                           "of a later version"};

    start();
    PUT(ORG, ID(1), "key.create");
    for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
        struct bus_message *message = next();

        cr_expect(tells(message, ID(1)));
        answer(message, outcomes[i]);
    }
    answer(next(), "ok");
    await(EMPTY);
}

Test(outbox, sends_unanswered_changes_again)
{
    start();
    PUT(ORG, ID(1), "key.create");
    bus_message_free(next());
    nats_server_kill(&nats);
    nats_server_start(&nats);
    for (bool has_come = false; !has_come;) {
        struct bus_message *message = next();

        has_come = tells(message, ID(1));
        answer(message, "ok");
    }
    await(EMPTY);
}

/* -- cells ------------------------------------------------------------------------------------- */

/* More of its changes wait than one message has, and its organization comes first. */
Test(outbox, are_not_held_up_by_a_cell_that_does_not_answer)
{
    struct bus_mailbox *silent = bus_serve(bus, "v1.cell2.audit.record", "audit");

    say("INSERT INTO access.organizations (organization_id, name, plan, cell) VALUES ('" ORG
        "', 'x', 'free', 'cell2')");
    say("INSERT INTO access.outbox (organization_id, id, who, change, detail)"
        " SELECT '" ORG "', gen_random_uuid(), 'operator', 'key.create', '{}'"
        "  FROM generate_series(1, 250) AS n");
    start();
    bus_message_free(next_of(silent));
    for (int i = 0; i < 3; i++) {
        struct bus_message *message;

        PUT(OTHER, ID(1), "key.create");
        ring();
        message = next();
        cr_expect(tells(message, OTHER) && !tells(message, ORG));
        answer(message, "ok");
        await("SELECT (count(*) = 0)::int FROM access.outbox WHERE organization_id = '" OTHER "'");
    }
    cr_expect_eq(postgres_integer(server.url, "SELECT count(*) FROM access.outbox"), 250);
}

/* Labelled with the cell in which their organization was when they were made. */
Test(outbox, go_to_the_cell_to_which_their_organization_has_moved)
{
    struct bus_mailbox *other = bus_serve(bus, "v1.cell2.audit.record", "audit");
    struct bus_message *message;

    say("INSERT INTO access.organizations (organization_id, name, plan, cell) VALUES ('" ORG
        "', 'x', 'free', 'cell2')");
    PUT(ORG, ID(1), "key.create");
    PUT(OTHER, ID(2), "key.create");
    start();
    message = next_of(other);
    cr_expect(tells(message, ORG) && !tells(message, OTHER));
    answer(message, "ok");
    message = next();
    cr_expect(tells(message, OTHER) && !tells(message, ORG));
    answer(message, "ok");
    await(EMPTY);
}

/* Those of an organization that is switching to another cell wait, whatever comes before them. */
Test(outbox, wait_while_their_organization_switches_cells)
{
    struct bus_message *message;

    say("INSERT INTO access.organizations (organization_id, name, plan) VALUES ('" ORG
        "', 'x', 'free')");
    say("INSERT INTO access.moves (organization_id, from_cell, to_cell, step)"
        " VALUES ('" ORG "', 'main', 'cell2', 'switching')");
    PUT(ORG, ID(1), "key.create");
    PUT(OTHER, ID(2), "key.create");
    start();
    message = next();
    cr_expect(tells(message, OTHER) && !tells(message, ORG));
    answer(message, "ok");
    await("SELECT (count(*) = 0)::int FROM access.outbox WHERE organization_id = '" OTHER "'");
    say("UPDATE access.moves SET step = 'switched'");
    ring();
    message = next();
    cr_expect(tells(message, ORG));
    answer(message, "ok");
    await(EMPTY);
}

static int64_t blocks_of(enum access_sql statement, const char *arguments)
{
    return postgres_blocks_of(role_url, access_sql[statement].text, arguments);
}

/* The statistics know only the changes that pile up. */
Test(outbox, does_not_walk_the_changes_for_another_cell)
{
    enum { BLOCKS_MAX = 60 }; /* 5000 organizations take 20,000 */

    say("INSERT INTO access.organizations (organization_id, name, plan, cell)"
        " SELECT ('01920000-0000-7000-9000-' || lpad(n::text, 12, '0'))::uuid, 'x', 'free', 'cell2'"
        "   FROM generate_series(1, 5000) AS n");
    say("INSERT INTO access.outbox (organization_id, id, who, change, detail, cell)"
        " SELECT organization_id, organization_id, 'x', 'key.create', '{}', cell"
        "   FROM access.organizations");
    say("ANALYZE access.outbox");
    PUT(OTHER, ID(1), "key.create");
    cr_expect_leq(blocks_of(SQL_FIND_OUTBOX_CELL, "'{cell2}'"), BLOCKS_MAX);
    cr_expect_leq(blocks_of(SQL_CLAIM_OUTBOX, "10000, 100, 262144, 'main'"), BLOCKS_MAX);
    cr_expect_leq(blocks_of(SQL_CLAIM_OUTBOX, "10000, 100, 262144, 'other'"), BLOCKS_MAX);
}

/* -- refusals ---------------------------------------------------------------------------------- */

/* Replies like an audit service of a release without the change `no.such`. */
static void answer_until(const char *holds)
{
    const int64_t until_us = clock_mono_us() + SOON_US;
    struct bus_message *message;

    while (postgres_integer(server.url, holds) == 0) {
        cr_assert_lt(clock_mono_us(), until_us, "never: %s", holds);
        bus_wait(bus, 10);
        while ((message = bus_take(mailbox)) != NULL)
            answer(message, tells(message, "no.such") ? "parameter_invalid" : "ok");
    }
}

Test(outbox, sets_aside_refused_changes_and_continues_with_the_rest)
{
    struct bus_message *message;

    start();
    say("INSERT INTO access.outbox (organization_id, id, who, change, detail)"
        " SELECT '" ORG "', ('01920000-0000-7000-8000-0000000000' || lpad(n::text, 2, '0'))::uuid,"
        " 'operator', CASE n WHEN 7 THEN 'no.such' ELSE 'key.create' END, '{}'"
        "  FROM generate_series(1, 20) AS n");
    answer_until("SELECT (count(*) = 1 AND bool_and(change = 'no.such'"
                 " AND refusal = 'parameter_invalid' AND due_at > now() + interval '4 minutes'))"
                 "::int FROM access.outbox");
    PUT(OTHER, ID(1), "key.create");
    ring();
    message = next();
    cr_expect(tells(message, OTHER) && !tells(message, "no.such"));
    answer(message, "ok");
    /* When it is due it is sent again, to a service that has the change. */
    say("UPDATE access.outbox SET due_at = now()");
    message = next();
    cr_expect(tells(message, "no.such"));
    answer(message, "ok");
    await(EMPTY);
}

/* -- stopping ---------------------------------------------------------------------------------- */

Test(outbox, leaves_unanswered_changes_to_the_next_process)
{
    start();
    PUT(ORG, ID(1), "key.create");
    bus_message_free(next());
    stop_outbox();
    cr_expect_eq(postgres_integer(server.url, "SELECT (due_at <= now())::int FROM access.outbox"),
                 1);
    ring(); /* from an actor that is still running */
}

/* -- claims ------------------------------------------------------------------------------------ */

static struct db *connect(void)
{
    return postgres_connect_as(&server, "conv_access", access_sql, ACCESS_SQL_COUNT);
}

/* Claims changes and returns the last digits of their ids. The transaction stays open until the
   next batch or commit. */
static const char *claim(struct db *db, int64_t n, int64_t bytes)
{
    struct params params = {.n = 0};
    struct buf out;
    size_t i;

    params_add_int(&params, &arena, 60000);
    params_add_int(&params, &arena, n);
    params_add_int(&params, &arena, bytes);
    params_add(&params, STR("main"));
    db_open_batch(db, clock_us() + SOON_US);
    i = db_add(db, SQL_CLAIM_OUTBOX, &params);
    cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
    buf_init(&out, &arena, 16);
    for (size_t row = 0; row < db_rows_count(db_result(db, i)); row++)
        buf_char(&out, db_value(db_result(db, i), row, CLAIM_OUTBOX_ID).p[UUID_TEXT - 1]);
    return arena_cstr(&arena, buf_str(&out));
}

Test(outbox, of_several_processes_send_different_changes)
{
    struct db *one = connect(), *other = connect();

    PUT(ORG, ID(1), "key.create");
    PUT(ORG, ID(2), "key.create");
    PUT(ORG, ID(3), "key.create");
    cr_expect_str_eq(claim(one, 2, 1 << 20), "12");
    cr_expect_str_eq(claim(other, 2, 1 << 20), "3", "the others are locked");
    cr_assert_eq(db_commit(one), ST_OK);
    cr_expect_str_eq(claim(one, 2, 1 << 20), "", "the others are claimed");
    cr_assert_eq(db_commit(one), ST_OK);
    db_abandon(other);
    cr_expect_str_eq(claim(one, 2, 1 << 20), "3");
    cr_assert_eq(db_commit(one), ST_OK);
    say("UPDATE access.outbox SET due_at = now() - interval '1 second'"); /* its process died */
    cr_expect_str_eq(claim(other, 9, 1 << 20), "123");
    cr_assert_eq(db_commit(other), ST_OK);
    db_free(one);
    db_free(other);
}

Test(outbox, claims_so_many_bytes_or_one_change)
{
    struct db *db = connect();

    say("INSERT INTO access.outbox (organization_id, id, who, change, detail)"
        " SELECT '" ORG "', ('01920000-0000-7000-8000-00000000000' || n)::uuid, 'operator',"
        " 'key.create', ('{\"a\":\"' || repeat('x', 30000) || '\"}')::json"
        "  FROM generate_series(1, 5) AS n");
    cr_expect_str_eq(claim(db, 9, 70000), "12");
    cr_assert_eq(db_commit(db), ST_OK);
    cr_expect_str_eq(claim(db, 9, 100), "3");
    cr_assert_eq(db_commit(db), ST_OK);
    cr_expect_str_eq(claim(db, 1, 70000), "4");
    cr_assert_eq(db_commit(db), ST_OK);
    db_free(db);
}

/* -- the table --------------------------------------------------------------------------------- */

Test(outbox, takes_what_the_log_takes_and_no_more)
{
    static const struct {
        const char *who, *target, *detail;
        int taken;
    } rows[] = {
        {"repeat('x', 1024)", "repeat('x', 1024)", "'{}'", 1},
        {"repeat('x', 1025)", "NULL", "'{}'", 0},
        {"''", "NULL", "'{}'", 0},
        {"'x'", "repeat('x', 1025)", "'{}'", 0},
        {"'x'", "NULL", "'{\"a\":\"' || repeat('x', 65536 - 8) || '\"}'", 1},
        {"'x'", "NULL", "'{\"a\":\"' || repeat('x', 65536 - 7) || '\"}'", 0},
    };

    say("CREATE FUNCTION test_takes(who text, target text, detail text) RETURNS integer"
        " LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO access.outbox (organization_id, id, who, change, target, detail)"
        " VALUES ('" ORG "', gen_random_uuid(), who, 'key.create', target, detail::json);"
        " RETURN 1; EXCEPTION WHEN check_violation THEN RETURN 0; END $$");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        cr_expect_eq(
            postgres_integer(server.url, arena_printf(&arena, "SELECT test_takes(%s, %s, %s)",
                                                      rows[i].who, rows[i].target, rows[i].detail)),
            rows[i].taken, "%zu", i);
}

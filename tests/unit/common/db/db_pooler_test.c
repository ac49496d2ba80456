/* Connections through PgBouncer in transaction mode. */
#include <libpq-fe.h>
#include <pthread.h>

#include "common/db/db_admin.h"
#include "tests/support/pgbouncer.h"
#include "tests/unit/common/db/db_fixture.h"

#define USERS "\"postgres\" \"\"\n"

static struct pgbouncer pooler;
static char through[POSTGRES_URL_MAX]; /* the URL of `database`, through the pooler */

static void open_pooler(const char *lines)
{
    const char *at = strchr(url, '@') + 1, *slash = strchr(at, '/');
    char server[POSTGRES_URL_MAX];

    snprintf(server, sizeof(server), "%.*s", (int)(slash - at), at);
    pgbouncer_start(&pooler, server, USERS, lines);
    snprintf(through, sizeof(through), "postgresql://postgres@127.0.0.1:%u%s", pooler.port, slash);
}

/* A single connection to the server, unless `lines` say otherwise. */
static void open_pooled(const char *lines)
{
    pgbouncer_need(PGBOUNCER_TRACKS);
    postgres_server_share(&database, &template);
    open_pooler(lines);
    db = db_to(through);
    cr_assert_eq(db_connect(db, 30000), ST_OK, "%s", db_trouble(db));
}

static void close_pooled(void)
{
    db_free(db);
    pgbouncer_stop(&pooler);
}

/* `verb` on our database, at the pooler's console. */
static void command(const char *verb)
{
    char text[64];
    PGconn *console = PQconnectdb(pooler.console);
    PGresult *result;

    snprintf(text, sizeof(text), "%s \"%s\"", verb, strrchr(through, '/') + 1);
    result = PQexec(console, text);
    cr_assert(PQresultStatus(result) == PGRES_COMMAND_OK ||
                  PQresultStatus(result) == PGRES_TUPLES_OK,
              "%s: %s", text, PQerrorMessage(console));
    PQclear(result);
    PQfinish(console);
}

Test(db_pooler, lets_connections_take_turns_on_one_of_the_server)
{
    struct db *all[5];

    open_pooled("default_pool_size = 1\n");
    all[0] = db;
    for (int i = 1; i < 5; i++) {
        all[i] = db_to(through);
        cr_assert_eq(db_connect(all[i], 30000), ST_OK, "%s", db_trouble(all[i]));
    }
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < 5; i++) {
            db = all[i];
            open_batch();
            add_int(INSERT, 5 * round + i);
            cr_assert_eq(db_run(db), ST_OK);
            (void)db_add(db, COUNT, NULL);
            db_abandon(db);
            open_batch();
            add_int(INSERT, 5 * round + i);
            cr_assert_eq(db_run(db), ST_OK);
            cr_assert_eq(db_commit(db), ST_OK);
        }
    cr_expect_eq(items(), 100);
    open_batch();
    add_int(INSERT, 0);
    cr_expect_eq(db_run(db), ST_RETRY);
    cr_expect_str_eq(db_last_sqlstate(db), "23505");
    cr_expect_eq(db_last_statement(db), INSERT);
    cr_expect_eq(db_last_entry(db), 0);
    assert_usable();
    for (int i = 0; i < 4; i++)
        db_free(all[i]);
    close_pooled();
}

/* The array is no literal: those are read when the statement is prepared. */
#define SETTINGS                                                                                   \
    "SELECT concat_ws(' ', to_timestamp(0), interval '-1 day 1 s', '\\xff'::bytea,"                \
    " (('{NU' || 'LL}')::text[])[1] IS NULL, current_setting('transaction_isolation'),"            \
    " current_setting('row_security'), current_setting('lock_timeout'),"                           \
    " current_setting('statement_timeout')) AS text"

/* Whatever the server has, and whatever others leave in its sessions. */
Test(db_pooler, sets_in_each_transaction_what_a_session_would_keep)
{
    static const struct db_statement results = {"results", SETTINGS, "text"};
    static const char expected[] =
        "1970-01-01 00:00:00+00 -1 days +00:00:01 \\xff t read committed on 300ms 2s";
    struct db *other;

    open_pooled("default_pool_size = 1\n");
    postgres_do(through,
                "SET timezone = 'Asia/Tokyo'; SET datestyle = 'SQL, DMY';"
                "SET intervalstyle = 'iso_8601'; SET row_security = off; SET array_nulls = off;"
                "SET bytea_output = 'escape'; SET lock_timeout = 1; SET statement_timeout = '1h';"
                "SET default_transaction_isolation = 'serializable'");
    other = db_new(&(struct db_options){.url = through,
                                        .name = "db_test",
                                        .statements = &results,
                                        .n_statements = 1,
                                        .lock_ms = 300,
                                        .statement_ms = 2000});
    cr_assert_eq(db_connect(other, 30000), ST_OK, "%s", db_trouble(other));
    cr_assert_eq(db_once(other, 0, NULL, TIMEOUT_US), ST_OK);
    cr_expect(str_equal(db_value(db_result(other, 0), 0, 0), STR(expected)), "%.*s",
              STR_ARG(db_value(db_result(other, 0), 0, 0)));
    db_free(other);
    close_pooled();
}

static void *kill_client_when_asleep(void *unused)
{
    postgres_await(url, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
                        " AND datname = current_database()");
    command("KILL");
    return NULL;
}

/* The pooler's own error comes before the results of the statements, which the server has finished:
   unlike an error of the server, it says nothing about the commit. */
Test(db_pooler, is_uncertain_when_the_pooler_ends_a_connection_whose_commit_was_sent)
{
    pthread_t killer;

    open_pooled("");
    open_batch();
    add_int(INSERT_SLOW_COMMIT, 1);
    pthread_create(&killer, NULL, kill_client_when_asleep, NULL);
    cr_expect_eq(db_commit(db), ST_UNCERTAIN);
    pthread_join(killer, NULL);
    cr_expect_eq(db_last_entry(db), DB_NO_ENTRY);
    cr_expect_not(db_is_up(db));
    command("RESUME");
    close_pooled();
}

Test(db_pooler, writes_nothing_when_the_pooler_ends_a_connection_before_the_commit)
{
    pthread_t killer;

    open_pooled("");
    open_batch();
    add_int(INSERT, 1);
    cr_assert_eq(db_run(db), ST_OK);
    add_int(SLEEP, 60);
    pthread_create(&killer, NULL, kill_client_when_asleep, NULL);
    cr_expect_eq(db_run(db), ST_UNAVAILABLE);
    pthread_join(killer, NULL);
    command("RESUME");
    cr_expect_eq(items(), 0);
    assert_usable();
    close_pooled();
}

/* The pooler prepares the statements again on the new connections to the server. */
Test(db_pooler, outlives_the_sessions_of_the_server_and_the_pooler)
{
    open_pooled("");
    assert_usable();
    postgres_await(url, "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity"
                        " WHERE application_name = 'db_test' AND datname = current_database()");
    db_check(db);
    while (db_connect(db, 30000) != ST_OK || db_once(db, COUNT, NULL, TIMEOUT_US) == ST_UNAVAILABLE)
        continue;
    pgbouncer_kill(&pooler);
    open_batch();
    add_int(INSERT, 7);
    cr_expect_eq(db_run(db), ST_UNAVAILABLE);
    pgbouncer_start_again(&pooler);
    cr_assert_eq(db_connect(db, 30000), ST_OK);
    cr_expect_eq(db_once(db, COUNT, NULL, TIMEOUT_US), ST_OK);
    close_pooled();
}

/* -- refusals: with any version of PgBouncer ---------------------------------------------------- */

static void expect_trouble(const char *expected)
{
    const int64_t until_us = clock_mono_us() + TIMEOUT_US;
    struct db *other = db_to(through);

    do {
        cr_assert_eq(db_connect(other, 100), ST_UNAVAILABLE, "%s", expected);
        cr_assert_lt(clock_mono_us(), until_us, "%s", db_trouble(other));
    } while (strcmp(db_trouble(other), expected) != 0);
    db_free(other);
}

Test(db_pooler, refuses_one_that_does_not_keep_prepared_statements)
{
    pgbouncer_need(1);
    postgres_server_share(&database, &template);
    open_pooler(pgbouncer_version() < PGBOUNCER_TRACKS ? "" : "max_prepared_statements = 0\n");
    /* The second time, the server has the statements of the first. */
    for (int i = 0; i < 2; i++)
        expect_trouble("the pooler in front of the database does not keep prepared statements");
    pgbouncer_stop(&pooler);
}

Test(db_pooler, refuses_one_that_refuses_its_settings)
{
    pgbouncer_need(1);
    postgres_server_share(&database, &template);
    open_pooler("ignore_startup_parameters =\n");
    expect_trouble("the pooler in front of the database refuses the settings of a session");
    pgbouncer_stop(&pooler);
}

Test(db_pooler, is_refused_by_programs_that_need_a_session)
{
    struct db_admin *admin;
    char error[DB_ADMIN_WHY];

    pgbouncer_need(1);
    postgres_server_share(&database, &template);
    open_pooler("");
    cr_assert_eq(db_admin_open(through, "test", 10, &admin, error), ST_INTERNAL, "%s", error);
    cr_expect_str_eq(error, "there is a pooler between the program and the database: connect to "
                            "the server itself");
    pgbouncer_stop(&pooler);
}

/* Connections to a real PostgreSQL: how they end under a batch, and how they are made. */
#include "common/db/db.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/config.h"
#include "tests/support/port.h"
#include "tests/unit/common/db/db_fixture.h"

TestSuite(db_link, .init = open_database, .fini = close_database);

/* -- links that end ---------------------------------------------------------------------------- */

Test(db_link, writes_nothing_when_the_backend_dies_before_the_commit)
{
    pthread_t killer;

    open_batch();
    add_int(INSERT, 1);
    cr_assert_eq(db_run(db), ST_OK);
    add_int(SLEEP, 60);
    pthread_create(&killer, NULL, kill_when_asleep, NULL);
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    pthread_join(killer, NULL);
    cr_assert_not(db_is_up(db));
    cr_assert_eq(items(), 0);
    assert_usable();
}

/* The commit was sent, but the server's error about a statement proves that it never ran. */
Test(db_link, is_certain_when_the_backend_dies_in_a_statement_ahead_of_the_commit)
{
    pthread_t killer;

    open_batch();
    add_int(INSERT, 1);
    add_int(SLEEP, 60);
    pthread_create(&killer, NULL, kill_when_asleep, NULL);
    cr_assert_eq(db_commit(db), ST_UNAVAILABLE);
    pthread_join(killer, NULL);
    cr_assert_str_eq(db_last_sqlstate(db), "57P01");
    cr_assert_eq(items(), 0);
    assert_usable();
}

Test(db_link, is_uncertain_when_the_backend_dies_during_the_commit)
{
    pthread_t killer;

    open_batch();
    add_int(INSERT_SLOW_COMMIT, 1);
    cr_assert_eq(db_run(db), ST_OK);
    pthread_create(&killer, NULL, kill_when_asleep, NULL);
    cr_assert_eq(db_commit(db), ST_UNCERTAIN);
    pthread_join(killer, NULL);
    cr_assert_not(db_is_up(db));
    assert_usable();
}

Test(db_link, drops_a_silent_link_after_the_deadline_and_before_it_answers)
{
    int64_t start_us = clock_mono_us(), took_us;

    db_open_batch(db, clock_us() + 100000);
    add_int(SLEEP, 60);
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    took_us = clock_mono_us() - start_us;
    /* The statement would take a minute. */
    cr_assert(took_us >= 200000 && took_us < 30000000, "%ld us", (long)took_us);
    cr_assert_not(db_is_up(db));
    assert_usable();
}

Test(db_link, is_uncertain_when_a_commit_is_not_answered_in_time)
{
    db_open_batch(db, clock_us() + 100000);
    add_int(INSERT_SLOW_COMMIT, 1);
    cr_assert_eq(db_commit(db), ST_UNCERTAIN);
    cr_assert_not(db_is_up(db));
}

Test(db_link, frees_the_locks_of_a_batch_whose_link_it_dropped)
{
    db_open_batch(db, clock_us() + 100000);
    add_int(INSERT, 1);
    add_int(SLEEP, 60);
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    postgres_await(url, "SELECT (count(*) = 0)::int FROM pg_stat_activity"
                        " WHERE wait_event = 'PgSleep' AND datname = current_database()");
}

/* The client's machine has lost power during a batch: neither data nor an end of file arrives. One
   late probe does not mean that the client has vanished. */
Test(db_link, has_the_server_drop_a_client_that_vanished_within_seconds)
{
    int64_t timeout_ms, first_probe_ms;

    open_batch();
    db_add(db, VANISHED, NULL);
    cr_assert_eq(db_run(db), ST_OK);
    timeout_ms = db_value_int(db_result(db, 0), 0, 0);
    first_probe_ms = db_value_int(db_result(db, 0), 0, 1);
    cr_assert(timeout_ms > first_probe_ms && timeout_ms < 10000, "%d ms, a probe is late at %d ms",
              (int)timeout_ms, (int)first_probe_ms);
    db_abandon(db);
}

Test(db_link, notices_between_batches_that_the_server_has_gone)
{
    int64_t until_us = clock_mono_us() + TIMEOUT_US;

    db_check(db);
    cr_assert(db_is_up(db));
    postgres_do(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                     " WHERE application_name = 'db_test' AND datname = current_database()");
    while (db_is_up(db) && clock_mono_us() < until_us)
        db_check(db);
    cr_assert_not(db_is_up(db));
    assert_usable();
}

Test(db_link, runs_nothing_while_the_link_is_down)
{
    struct db *other = db_to(url);

    db_open_batch(other, clock_us() + 30 * INT64_C(1000000));
    db_add(other, COUNT, NULL);
    cr_assert_eq(db_run(other), ST_UNAVAILABLE);
    db_free(other);
}

/* -- connecting -------------------------------------------------------------------------------- */

Test(db_link, connects_once_the_schema_fits_its_statements)
{
    struct db *early;

    postgres_do(url, "ALTER TABLE item RENAME TO later");
    early = db_to(url);
    cr_assert_eq(db_connect(early, 300), ST_UNAVAILABLE);
    postgres_do(url, "ALTER TABLE later RENAME TO item");
    cr_assert_eq(db_connect(early, 30000), ST_OK);
    db_free(early);
}

Test(db_link, does_not_wait_for_a_server_that_never_answers)
{
    uint16_t port;
    int listener = port_bound(&port);
    int64_t start_us, took_us;
    struct db *deaf;
    char to[96];

    cr_assert_eq(listen(listener, 1), 0);
    snprintf(to, sizeof(to), "postgresql://u@127.0.0.1:%d/d", port);
    deaf = db_to(to);
    start_us = clock_mono_us();
    cr_assert_eq(db_connect(deaf, 50), ST_UNAVAILABLE);
    took_us = clock_mono_us() - start_us;
    /* A longer timeout does not help. */
    cr_assert_eq(db_connect(deaf, 2000), ST_UNAVAILABLE);
    cr_assert_lt(took_us, (clock_mono_us() - start_us) / 2);
    db_free(deaf);
    close(listener);
}

/* Expects this log of a connection whose second statement returns `a`, `b` but declares `named`. */
static void assert_columns_refused(const char *named, const char *expected)
{
    const struct db_statement others[] = {{"fits", "SELECT 1 AS a", "a"},
                                          {"pair", "SELECT 1 AS a, 2 AS b", named}};
    struct db *other = db_new(&(struct db_options){
        .url = url, .name = "db_test", .statements = others, .n_statements = 2});
    const int kept = dup(STDERR_FILENO), log = memfd_create("log", 0);
    char text[4096] = "";

    cr_assert_geq(dup2(log, STDERR_FILENO), 0);
    cr_expect_eq(db_connect(other, 1000), ST_UNAVAILABLE);
    cr_assert_geq(dup2(kept, STDERR_FILENO), 0);
    cr_assert_gt(pread(log, text, sizeof(text) - 1, 0), 0);
    cr_expect_not(db_is_up(other));
    cr_expect_not_null(strstr(text, "\"level\":\"error\""), "%s", text);
    cr_expect_not_null(strstr(text, "\"statement\":\"pair\""), "%s", text);
    cr_expect_not_null(strstr(text, expected), "%s, not %s", text, expected);
    close(log);
    close(kept);
    db_free(other);
}

Test(db_link, refuses_a_statement_that_returns_other_columns_than_it_names)
{
    assert_columns_refused("a c", "column 2 is \\\"b\\\", not \\\"c\\\"");
    assert_columns_refused("b a", "column 1 is \\\"a\\\", not \\\"b\\\"");
    assert_columns_refused("a", "column 2 is \\\"b\\\", not \\\"\\\"");
    assert_columns_refused("a b c", "column 3 is \\\"\\\", not \\\"c\\\"");
    assert_columns_refused("a bb", "column 2 is \\\"b\\\", not \\\"bb\\\"");
}

/* A caller that never waits connects all the same: an attempt continues from call to call. */
Test(db_link, connects_in_steps)
{
    struct db *other = db_to(url);
    int64_t until_us = clock_mono_us() + TIMEOUT_US;

    while (db_connect(other, 0) != ST_OK && clock_mono_us() < until_us)
        continue;
    cr_assert(db_is_up(other));
    db_free(other);
}

Test(db_link, refuses_a_url_that_cannot_be_parsed)
{
    cr_assert_null(db_to("postgresql://user:secret@[::1/database"));
    cr_assert_null(db_to("postgresql://user:sec@ret@127.0.0.1/database"),
                   "ret@127.0.0.1 is no name");
    cr_assert_null(db_to("postgresql://user:sec/ret@127.0.0.1/database"), "sec is no port");
}

Test(db_link, comes_back_after_the_server_has_crashed)
{
    struct postgres_server own;
    struct db *other;

    postgres_server_prepare(&own);
    postgres_server_start(&own);
    postgres_do(own.url, schema);
    other = db_to(own.url);
    cr_assert_eq(db_connect(other, 30000), ST_OK);
    postgres_server_crash(&own);

    db_open_batch(other, clock_us() + 30 * INT64_C(1000000));
    db_add(other, COUNT, NULL);
    cr_assert_eq(db_run(other), ST_UNAVAILABLE);
    cr_assert_eq(db_connect(other, 200), ST_UNAVAILABLE);
    postgres_server_start(&own);
    cr_assert_eq(db_connect(other, 30000), ST_OK);
    db_free(other);
    postgres_server_stop(&own);
}

/* -- a renewed URL ----------------------------------------------------------------------------- */

static void write_url(const char *path, const char *role, const char *rest)
{
    FILE *file = fopen(path, "we");

    cr_assert_not_null(file);
    cr_assert_gt(fprintf(file, "%s?user=%s%s\n", url, role, rest), 0);
    cr_assert_eq(fclose(file), 0);
}

/* The role of the connection that the server has just ended, and of the next one. */
static void expect_next_role(struct db *other, const char *before, const char *after)
{
    const char *const roles[] = {before, after};

    for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
        struct str role;

        cr_assert_eq(db_connect(other, 30000), ST_OK, "%s", db_trouble(other));
        db_open_batch(other, clock_us() + TIMEOUT_US);
        (void)db_add(other, 0, NULL);
        cr_assert_eq(db_commit(other), ST_OK);
        role = db_value(db_result(other, 0), 0, 0);
        cr_expect(str_equal(role, str_of(roles[i])), "%.*s", STR_ARG(role));
        if (i == 0)
            postgres_await(url, "SELECT count(pg_terminate_backend(pid, 10000))"
                                " FROM pg_stat_activity WHERE application_name = 'renewed'"
                                " AND datname = current_database()");
        db_check(other);
    }
}

Test(db_link, takes_a_renewed_url_from_its_file_at_the_next_connection)
{
    static const struct setting settings[] = {
        {"DATABASE_URL", SETTING_STRING, 0, NULL, 0, 0, true, "PostgreSQL"}};
    static const struct db_statement role = {"role", "SELECT current_user AS role", "role"};
    struct {
        const char *url;
    } config;
    char path[64], error[256];
    struct db *other;

    snprintf(path, sizeof(path), "/tmp/url-%d", (int)getpid());
    postgres_do(url, "DO $$ BEGIN CREATE ROLE renewed LOGIN SUPERUSER;"
                     " EXCEPTION WHEN duplicate_object THEN NULL; END $$");
    write_url(path, "postgres", "");
    setenv("DATABASE_URL_FILE", path, 1);
    unsetenv("DATABASE_URL");
    cr_assert_eq(config_load(settings, 1, &config, error), ST_OK, "%s", error);
    other = db_new(&(struct db_options){
        .url = config.url, .name = "renewed", .statements = &role, .n_statements = 1});
    cr_assert_eq(db_connect(other, 30000), ST_OK, "%s", db_trouble(other));
    write_url(path, "renewed", "");
    expect_next_role(other, "postgres", "renewed");
    write_url(path, "postgres", "&no_such_key=1"); /* the former one is used */
    expect_next_role(other, "renewed", "renewed");
    db_free(other);
    unlink(path);
}

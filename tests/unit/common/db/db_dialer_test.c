/* Connections to a real PostgreSQL: how they are made. */
#include "common/db/db.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/config.h"
#include "tests/support/port.h"
#include "tests/unit/common/db/db_fixture.h"

TestSuite(db_dialer, .init = open_database, .fini = close_database);

Test(db_dialer, connects_once_the_schema_fits_its_statements)
{
    struct db *early;

    postgres_do(url, "ALTER TABLE item RENAME TO later");
    early = db_to(url);
    cr_assert_eq(db_connect(early, 300), ST_UNAVAILABLE);
    postgres_do(url, "ALTER TABLE later RENAME TO item");
    cr_assert_eq(db_connect(early, 30000), ST_OK);
    db_free(early);
}

Test(db_dialer, does_not_wait_for_a_server_that_never_answers)
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

Test(db_dialer, refuses_a_statement_that_returns_other_columns_than_it_names)
{
    assert_columns_refused("a c", "column 2 is \\\"b\\\", not \\\"c\\\"");
    assert_columns_refused("b a", "column 1 is \\\"a\\\", not \\\"b\\\"");
    assert_columns_refused("a", "column 2 is \\\"b\\\", not \\\"\\\"");
    assert_columns_refused("a b c", "column 3 is \\\"\\\", not \\\"c\\\"");
    assert_columns_refused("a bb", "column 2 is \\\"b\\\", not \\\"bb\\\"");
}

/* A caller that never waits connects all the same: an attempt continues from call to call. */
Test(db_dialer, connects_in_steps)
{
    struct db *other = db_to(url);
    int64_t until_us = clock_mono_us() + TIMEOUT_US;

    while (db_connect(other, 0) != ST_OK && clock_mono_us() < until_us)
        continue;
    cr_assert(db_is_up(other));
    db_free(other);
}

Test(db_dialer, refuses_a_url_that_cannot_be_parsed)
{
    cr_assert_null(db_to("postgresql://user:secret@[::1/database"));
    cr_assert_null(db_to("postgresql://user:sec@ret@127.0.0.1/database"),
                   "ret@127.0.0.1 is no name");
    cr_assert_null(db_to("postgresql://user:sec/ret@127.0.0.1/database"), "sec is no port");
}

Test(db_dialer, comes_back_after_the_server_has_crashed)
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

Test(db_dialer, takes_a_renewed_url_from_its_file_at_the_next_connection)
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

/*
 * db_fixture - a database for each test, with tables and statements for all that can happen to a
 * batch, and a connection to it, `db`. One server serves all tests of a file. Header-only.
 */
#ifndef TESTS_UNIT_COMMON_DB_DB_FIXTURE_H
#define TESTS_UNIT_COMMON_DB_DB_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/db/db.h"
#include "common/db/params.h"
#include "tests/support/postgres_server.h"

enum { TIMEOUT_US = 30 * 1000 * 1000 };
enum {
    INSERT,
    INSERT_DEFERRED,
    COUNT,
    ECHO,
    SLEEP,
    INSERT_SLOW_COMMIT,
    VANISHED,
    IDS,
    BINARY,
    FILL,
    TYPED,
    SAVEPOINT,
    SHAPE,
    UNSUPPORTED,
};

static const struct db_statement statements[] = {
    {"insert", "INSERT INTO item (id) VALUES ($1::int)", NULL},
    {"insert_deferred", "INSERT INTO deferred (id) VALUES ($1::int)", NULL},
    {"count", "SELECT count(*) FROM item", "count"},
    {"echo", "SELECT $1::text AS a, $2::text AS b, true AS c, 42 AS d", "a b c d"},
    {"sleep", "SELECT pg_sleep($1::float8)", "pg_sleep"},
    {"insert_slow_commit", "INSERT INTO slow (id) VALUES ($1::int)", NULL},
    {"vanished",
     "SELECT regexp_replace(current_setting('tcp_user_timeout'), 'ms$', '')::int AS timeout,"
     " 1000 * (current_setting('tcp_keepalives_idle')::int"
     " + current_setting('tcp_keepalives_interval')::int) AS probes",
     "timeout probes"},
    {"ids",
     "SELECT $1::text AS a, array_to_string($2::uuid[], ' ', 'none') AS b, $3::text AS c, "
     "$4::uuid[] AS d",
     "a b c d"},
    {"binary", "SELECT $1::text[] AS texts, $2::jsonb[] AS jsons", "texts jsons"},
    {"fill", "SELECT repeat('x', $1::int) AS text", "text"},
    {"typed", "SELECT $1::uuid AS id, NULL::uuid AS nil, -7::smallint AS n, to_timestamp(0) AS at",
     "id nil n at"},
    {"savepoint", "SAVEPOINT here", NULL},
    {"shape", "SELECT * FROM shape", "id"},
    {"unsupported", "SELECT unsupported()", "unsupported"},
};

static const char schema[] =
    "CREATE TABLE item (id int PRIMARY KEY);"
    "CREATE TABLE deferred (id int UNIQUE DEFERRABLE INITIALLY DEFERRED);"
    "CREATE TABLE slow (id int);"
    "CREATE TABLE shape (id int);"
    "CREATE FUNCTION unsupported() RETURNS void LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE feature_not_supported; END $$;"
    "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;"
    "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED"
    " FOR EACH ROW EXECUTE FUNCTION slow();";

/* -- a database for each test ------------------------------------------------------------------ */

static const struct postgres_template template = {.name = "items", .script = schema};
static struct postgres_server database;
static const char *const url = database.url;
static struct db *db;

static inline struct db *db_within(const char *to, int statement_ms)
{
    return db_new(&(struct db_options){
        .url = to,
        .name = "db_test",
        .statements = statements,
        .n_statements = ARRAY_SIZE(statements),
        .statement_ms = statement_ms,
    });
}

static inline struct db *db_to(const char *to)
{
    return db_within(to, 0);
}

static inline void open_database(void)
{
    postgres_server_share(&database, &template);
    db = db_to(url);
    cr_assert_eq(db_connect(db, 30000), ST_OK);
}

static inline void close_database(void)
{
    db_free(db);
}

static inline void open_batch(void)
{
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
}

static inline size_t add_int(int statement, int value)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", value);
    return db_add(db, statement, PARAMS(((struct str){text, strlen(text)})));
}

static inline int64_t items(void)
{
    return postgres_integer(url, "SELECT count(*) FROM item");
}

/* Expects the connection to run the next batch. */
static inline void assert_usable(void)
{
    cr_assert_eq(db_connect(db, 30000), ST_OK);
    open_batch();
    add_int(INSERT, 1000000);
    cr_assert_eq(db_commit(db), ST_OK);
}

/* Kills the backend once it sleeps inside a statement or a commit. */
static inline void *kill_when_asleep(void *unused)
{
    postgres_await(url, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                        " WHERE application_name = 'db_test' AND wait_event = 'PgSleep'"
                        " AND datname = current_database()");
    return NULL;
}

#endif

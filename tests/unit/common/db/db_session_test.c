/* What a session with the database is like, and which databases are refused. */
#include "common/db/db_session.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/db/db_admin.h"
#include "tests/unit/common/db/db_fixture.h"

Test(db_session, joins_the_options_of_the_url_with_ours_which_come_last)
{
    const struct db_options service = {.lock_ms = 300};
    char *options = db_session_options("postgresql://h/d?options=-c%20work_mem%3D8MB", &service);
    const char *timeout = strstr(options, "-c lock_timeout=300 -c statement_timeout=10000"),
               *of_url = strstr(options, " -c work_mem=8MB"),
               *ours = strstr(options, " -c TimeZone=UTC");

    cr_expect(timeout != NULL && timeout < of_url && of_url < ours, "%s", options);
    cr_expect_not_null(strstr(options, " -c default_transaction_isolation=read\\ committed"));
    free(options);
    options = db_session_options("postgresql://h/d", NULL);
    cr_expect_null(strstr(options, "lock_timeout"), "%s", options);
    cr_expect_not_null(strstr(options, "-c client_connection_check_interval=1000 "), "%s", options);
    free(options);
}

/* A row of settings, in which `values` are those of the first columns. */
static PGresult *settings(char *const *values, int n_values)
{
    char *query = db_session_query(), name[] = "setting";
    PGresult *row = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    PGresAttDesc *columns;
    int n = 1;

    cr_assert_not_null(strstr(query, "), current_setting('server_version_num'), "), "%s", query);
    for (const char *at = query; (at = strstr(at, ", ")) != NULL; at++)
        n += strncmp(at, ", true", 6) != 0;
    columns = heap_zeroed((size_t)n, sizeof(*columns));
    for (int i = 0; i < n; i++)
        columns[i].name = name;
    cr_assert(PQsetResultAttrs(row, n, columns));
    for (int i = 0; i < n_values; i++)
        cr_assert(PQsetvalue(row, 0, i, values[i], (int)strlen(values[i])));
    free(columns);
    free(query);
    return row;
}

/* No older server is installed with the tests. */
Test(db_session, objects_to_an_old_server)
{
    char yes[] = "t", old[] = "140013", why[DB_SESSION_WHY];
    PGresult *row = settings((char *[]){yes, yes, old}, 3);
    bool is_pooled = true;

    cr_expect_str_eq(db_session_objection(row, &is_pooled, why),
                     "the database's server is older than PostgreSQL 15");
    cr_expect_str_eq(why, "the database's server is older than PostgreSQL 15: "
                          "server_version_num is 140013; upgrade it");
    cr_expect_not(is_pooled);
    PQclear(row);
}

/* -- a real database --------------------------------------------------------------------------- */

/* A service reports it and goes on trying; a program that changes the schema says what to do. */
static void expect_objection(const char *to, const char *expected, const char *advice)
{
    const int64_t until_us = clock_mono_us() + TIMEOUT_US;
    struct db *other = db_to(to);
    struct db_admin *admin;
    char error[DB_ADMIN_WHY];

    do {
        cr_assert_eq(db_connect(other, 100), ST_UNAVAILABLE, "%s", expected);
        cr_assert_lt(clock_mono_us(), until_us, "%s", db_trouble(other));
    } while (strcmp(db_trouble(other), expected) != 0);
    db_free(other);
    cr_assert_eq(db_admin_open(to, "test", 10, &admin, error), ST_INTERNAL);
    cr_expect(strstr(error, expected) != NULL && strstr(error, advice) != NULL, "%s", error);
}

static void expect_encoding_refused(const struct postgres_server *own, const char *encoding)
{
    char text[160];

    snprintf(text, sizeof(text),
             "CREATE DATABASE \"%s\" ENCODING '%s' LOCALE 'C' TEMPLATE template0", encoding,
             encoding);
    postgres_do(own->url, text);
    snprintf(text, sizeof(text), "postgresql://postgres@127.0.0.1:%u/%s", own->port, encoding);
    expect_objection(text, "the database's encoding is not UTF8", encoding);
    expect_objection(text, "the database's encoding is not UTF8", "ENCODING 'UTF8'");
}

static void start_own(struct postgres_server *own)
{
    postgres_server_prepare(own);
    postgres_server_start(own);
    postgres_do(own->url, schema);
}

Test(db_session, refuses_what_would_lose_text_or_commits)
{
    struct postgres_server own;

    start_own(&own);
    expect_encoding_refused(&own, "LATIN1");
    expect_encoding_refused(&own, "SQL_ASCII");
    postgres_do(own.url, "ALTER ROLE postgres SET synchronous_commit = off");
    expect_objection(own.url, "the database's synchronous_commit is off", "reset it");
    postgres_do(own.url, "ALTER ROLE postgres RESET synchronous_commit;"
                         " ALTER ROLE postgres SET session_replication_role = replica");
    expect_objection(own.url, "the database's session_replication_role is not origin", "reset it");
    postgres_server_stop(&own);
}

#define RESULTS                                                                                    \
    "SELECT concat_ws(' ', to_timestamp(0), interval '-1 day 1 s', '\\xff'::bytea,"                \
    " ('{NULL}'::text[])[1] IS NULL, current_setting('transaction_isolation'),"                    \
    " current_setting('row_security'), current_setting('work_mem')) AS text"

Test(db_session, has_the_same_results_whatever_the_database_the_role_and_the_url_set)
{
    static const struct db_statement results = {"results", RESULTS, "text"};
    static const char expected[] =
        "1970-01-01 00:00:00+00 -1 days +00:00:01 \\xff t read committed on 8MB";
    struct postgres_server own;
    struct db_admin *admin;
    char text[160], error[DB_ADMIN_WHY];
    struct db *other;

    start_own(&own);
    postgres_do(own.url, "ALTER DATABASE postgres SET timezone = 'Asia/Tokyo';"
                         "ALTER DATABASE postgres SET datestyle = 'SQL, DMY';"
                         "ALTER DATABASE postgres SET intervalstyle = 'iso_8601';"
                         "ALTER DATABASE postgres SET row_security = off;"
                         "ALTER ROLE postgres SET array_nulls = off;"
                         "ALTER ROLE postgres SET standard_conforming_strings = off;"
                         "ALTER ROLE postgres SET default_transaction_isolation = 'serializable'");
    snprintf(text, sizeof(text), "%s?options=-c%%20bytea_output%%3Descape%%20-c%%20work_mem%%3D8MB",
             own.url);
    other = db_new(&(struct db_options){
        .url = text, .name = "db_test", .statements = &results, .n_statements = 1});
    cr_assert_eq(db_connect(other, 30000), ST_OK, "%s", db_trouble(other));
    db_open_batch(other, clock_us() + TIMEOUT_US);
    (void)db_add(other, 0, NULL);
    cr_assert_eq(db_commit(other), ST_OK);
    cr_expect(str_equal(db_value(db_result(other, 0), 0, 0), STR(expected)), "%.*s",
              STR_ARG(db_value(db_result(other, 0), 0, 0)));
    db_free(other);
    cr_assert_eq(db_admin_open(text, "test", 10, &admin, error), ST_OK, "%s", error);
    cr_assert_eq(db_admin_query(admin, &results, NULL, 0), ST_OK, "%s", db_admin_error(admin));
    cr_expect_str_eq(db_admin_value(admin, 0, 0), expected);
    db_admin_free(admin);
    postgres_server_stop(&own);
}

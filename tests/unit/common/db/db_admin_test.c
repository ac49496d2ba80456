#include "common/db/db_admin.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/postgres_server.h"

static struct postgres_server server;
static struct db_admin *admin;
static char error[DB_ADMIN_WHY];

static void start(void)
{
    postgres_server_prepare(&server);
    postgres_server_start(&server);
    cr_assert_eq(db_admin_open(server.url, "test", 10, &admin, error), ST_OK, "%s", error);
}

static void stop(void)
{
    db_admin_free(admin);
    postgres_server_stop(&server);
}

Test(db_admin, runs_scripts_and_bound_queries_and_says_why_it_cannot, .init = start, .fini = stop)
{
    static const struct db_statement pair = {"pair", "SELECT $1::text AS a, $2::text AS b FROM t",
                                             "a b"};
    const char *params[] = {"it's", NULL};

    cr_assert_eq(db_admin_script(admin, "CREATE TABLE t (a text); INSERT INTO t VALUES ('x')"),
                 ST_OK);
    cr_assert_eq(db_admin_query(admin, &pair, params, 2), ST_OK);
    cr_assert_eq(db_admin_rows(admin), 1);
    cr_assert_str_eq(db_admin_value(admin, 0, 0), "it's");
    cr_assert_null(db_admin_value(admin, 0, 1));

    cr_assert_eq(db_admin_script(admin, "INSERT INTO t VALUES ('y'); SELECT * FROM nowhere"),
                 ST_INTERNAL);
    cr_assert_str_eq(db_admin_sqlstate(admin), "42P01");
    cr_assert_not_null(strstr(db_admin_error(admin), "nowhere"));
    cr_assert_eq(postgres_integer(server.url, "SELECT count(*) FROM t"), 1,
                 "a script that fails leaves nothing behind");
}

static const struct db_statement one = {"one", "SELECT 1 AS one", "one"};

Test(db_admin, refuses_other_columns_than_a_statement_names, .init = start, .fini = stop)
{
    const struct db_statement other = {"other", one.text, "two"};

    cr_assert_eq(db_admin_query(admin, &one, NULL, 0), ST_OK);
    cr_assert_eq(db_admin_query(admin, &other, NULL, 0), ST_INTERNAL);
    cr_assert_str_eq(db_admin_error(admin), "column 1 is \"one\", not \"two\"");
}

Test(db_admin, sends_without_waiting_for_the_answer, .init = start, .fini = stop)
{
    static const struct db_statement take = {"take", "SELECT pg_advisory_lock(1) AS taken",
                                             "taken"},
                                     give = {"give", "SELECT pg_advisory_unlock(1) AS given",
                                             "given"},
                                     wrong = {"wrong", "SELECT 1 / 0 AS n", "n"};
    struct db_admin *other;

    cr_assert_eq(db_admin_open(server.url, "test", 10, &other, error), ST_OK, "%s", error);
    cr_assert_eq(db_admin_query(other, &take, NULL, 0), ST_OK);
    cr_assert_eq(db_admin_send(admin, &take, NULL, 0), ST_OK);
    cr_assert_eq(db_admin_query(other, &give, NULL, 0), ST_OK);
    cr_assert_eq(db_admin_receive(admin, &take), ST_OK);
    cr_assert_eq(db_admin_rows(admin), 1);
    cr_assert_eq(db_admin_send(admin, &wrong, NULL, 0), ST_OK);
    cr_assert_eq(db_admin_receive(admin, &wrong), ST_INTERNAL);
    cr_assert_str_eq(db_admin_sqlstate(admin), "22012");
    cr_assert_eq(db_admin_query(admin, &one, NULL, 0), ST_OK);
    db_admin_free(other);
}

Test(db_admin, waits_for_an_answer_no_longer_than_its_limit, .init = start, .fini = stop)
{
    static const struct db_statement sleep = {"sleep", "SELECT pg_sleep(3600)::text AS slept",
                                              "slept"};

    cr_assert_eq(db_admin_query(admin, &one, NULL, 0), ST_OK);
    db_admin_limit(admin, 1000);
    cr_assert_eq(db_admin_query(admin, &sleep, NULL, 0), ST_UNAVAILABLE);
    cr_expect_str_eq(db_admin_error(admin), "the server has not answered for 1 seconds");
    cr_expect_str_eq(db_admin_sqlstate(admin), "");
    cr_expect_neq(db_admin_query(admin, &one, NULL, 0), ST_OK);

    db_admin_free(admin);
    cr_assert_eq(db_admin_open(server.url, "test", 10, &admin, error), ST_OK, "%s", error);
    db_admin_limit(admin, 1000);
    cr_assert_eq(db_admin_script(admin, "SELECT 1; SELECT pg_sleep(3600)"), ST_UNAVAILABLE);
}

/* Copies all rows of a table, by three. Returns in how many transactions, or -1: it failed on
   `other`. */
static int copy_all(struct db_admin *other, const char *in)
{
    struct db_admin *failed;
    size_t rows;
    int n = 0;

    cr_assert_eq(db_admin_copy_begin(admin, "COPY (SELECT * FROM t) TO STDOUT"), ST_OK);
    do {
        if (db_admin_copy(admin, other, in, 3, 10 * 1000000, &rows, &failed) != ST_OK) {
            cr_expect_eq(failed, other);
            return -1;
        }
        cr_expect_leq(rows, 3);
        n += rows > 0;
    } while (rows > 0);
    return n;
}

Test(db_admin, copies_rows_in_short_transactions, .init = start, .fini = stop)
{
    struct db_admin *other;

    cr_assert_eq(db_admin_open(server.url, "test", 10, &other, error), ST_OK, "%s", error);
    cr_assert_eq(db_admin_script(admin, "CREATE TABLE t (a int, b text); CREATE TABLE u (LIKE t)"),
                 ST_OK);
    cr_expect_eq(copy_all(other, "COPY u FROM STDIN"), 0);
    cr_assert_eq(db_admin_script(admin, "INSERT INTO t SELECT i, E'a\\tb\\\\\\n' || i"
                                        "  FROM generate_series(1, 7) AS i"),
                 ST_OK);
    cr_expect_eq(copy_all(other, "COPY u FROM STDIN"), 3);
    cr_expect_eq(postgres_integer(server.url, "SELECT count(DISTINCT xmin::text) FROM u"), 3);
    cr_expect_eq(postgres_integer(server.url, "SELECT count(*) FROM t JOIN u USING (a, b)"), 7);

    cr_assert_eq(db_admin_script(other, "TRUNCATE u; CREATE UNIQUE INDEX ON u ((a / 2))"), ST_OK);
    cr_expect_eq(copy_all(other, "COPY u FROM STDIN"), -1);
    cr_expect_str_eq(db_admin_sqlstate(other), "23505");
    cr_expect_eq(postgres_integer(server.url, "SELECT count(*) FROM u"), 0);
    db_admin_free(other);
}

Test(db_admin, distinguishes_a_lost_link_from_a_refused_statement, .init = start, .fini = stop)
{
    postgres_server_crash(&server);
    cr_assert_eq(db_admin_query(admin, &one, NULL, 0), ST_UNAVAILABLE);
}

Test(db_admin, makes_a_verifier_that_does_not_show_the_password, .init = start, .fini = stop)
{
    char *verifier = db_admin_verifier(admin, "somebody", "hush");

    cr_assert_not_null(verifier);
    cr_assert_eq(strncmp(verifier, "SCRAM-SHA-256$", 14), 0);
    cr_assert_null(strstr(verifier, "hush"));
    free(verifier);
}

Test(db_admin, cannot_open_a_database_that_does_not_answer)
{
    struct db_admin *none = NULL;

    cr_assert_eq(db_admin_open("postgresql://u:hush@127.0.0.1:1/d", "test", 2, &none, error),
                 ST_UNAVAILABLE);
    cr_assert_null(none);
    cr_assert_null(strstr(error, "hush"));
}

Test(db_admin, tells_why_each_address_cannot_be_used)
{
    struct db_admin *none = NULL;

    cr_assert_eq(db_admin_open("postgresql://127.0.0.1:1,127.0.0.2:2/d", "test", 2, &none, error),
                 ST_UNAVAILABLE);
    cr_expect_not_null(strstr(error, "port 1 failed: Connection refused; "), "%s", error);
    cr_expect_not_null(strstr(error, "port 2 failed: Connection refused"), "%s", error);
}

Test(db_admin, does_not_quote_a_url_that_it_cannot_read)
{
    struct db_admin *none = NULL;

    cr_assert_eq(db_admin_open("postgresql://u:hu%zzsh@h/d", "test", 2, &none, error), ST_INTERNAL);
    cr_assert_null(strstr(error, "hu"));
    cr_assert_eq(db_admin_open("postgresql://u:hu/zzsh@h/d", "test", 2, &none, error), ST_INTERNAL);
    cr_assert_null(strstr(error, "hu"));
}

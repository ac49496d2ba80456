#include "services/migrate/apply.h"

#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/postgres_server.h"

static struct postgres_server server;

static const struct database_role roles[] = {{"conv_one", "secret"}, {"conv_two", ""}};

static struct migration list[] = {
    {"one", 1, "first", "aa", "CREATE SCHEMA one; CREATE TABLE one.t (a integer);"},
    {"one", 2, "second", "bb", "INSERT INTO one.t VALUES (1);"},
    {"two", 1, "first", "cc", "GRANT USAGE ON SCHEMA one TO conv_two;"},
};

static const struct apply_options options = {
    .migrations = list,
    .n_migrations = 3,
    .roles = roles,
    .n_roles = 2,
    .lock_wait_s = 20,
};

static void start(void)
{
    postgres_server_prepare(&server);
    postgres_server_start(&server);
}

static void stop(void)
{
    postgres_server_stop(&server);
}

static enum status run(void)
{
    struct db_admin *admin = NULL;
    char error[DB_ADMIN_WHY];
    enum status st;

    cr_assert_eq(db_admin_open(server.url, "test", 10, &admin, error), ST_OK, "%s", error);
    st = apply_all(admin, &options);
    db_admin_free(admin);
    return st;
}

#define COUNT(query) postgres_integer(server.url, "SELECT count(*) FROM " query)

Test(apply, brings_the_schema_forward_once, .init = start, .fini = stop)
{
    cr_assert_eq(run(), ST_OK);
    cr_assert_eq(run(), ST_OK);
    cr_assert_eq(COUNT("one.t"), 1);
    cr_assert_eq(COUNT("migration.applied"), 3);
}

Test(apply, makes_roles_that_can_log_in_once_they_have_a_password, .init = start, .fini = stop)
{
    cr_assert_eq(run(), ST_OK);
    cr_assert_eq(COUNT("pg_roles WHERE rolname = 'conv_one' AND rolcanlogin"), 1);
    cr_assert_eq(COUNT("pg_roles WHERE rolname = 'conv_two' AND NOT rolcanlogin"), 1);
    cr_assert_eq(COUNT("pg_roles WHERE rolname LIKE 'conv%' AND (rolsuper OR rolcreatedb OR "
                       "rolcreaterole OR rolreplication OR rolbypassrls OR rolinherit)"),
                 0);
    cr_assert_eq(COUNT("(SELECT) x WHERE has_schema_privilege('conv_one', 'public', 'CREATE')"), 0);
    cr_assert_eq(COUNT("(SELECT) x WHERE has_database_privilege('conv_one', current_database(), "
                       "'TEMPORARY')"),
                 0);
}

/* -- sessions that hang ----------------------------------------------------------------------- */

static PGconn *begin_as(const char *role, const char *name)
{
    char url[POSTGRES_URL_MAX], set[64];
    PGconn *link;

    postgres_url_as(&server, role, url);
    link = PQconnectdb(url);
    (void)snprintf(set, sizeof(set), "SET application_name = '%s'", name);
    PQclear(PQexec(link, set));
    PQclear(PQexec(link, "BEGIN"));
    cr_assert_eq(PQtransactionStatus(link), PQTRANS_INTRANS, "%s", PQerrorMessage(link));
    return link;
}

static bool is_there(const char *name)
{
    char query[96];

    (void)snprintf(query, sizeof(query),
                   "SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s'", name);
    return postgres_integer(server.url, query) == 1;
}

Test(apply, allows_services_only_to_end_hung_sessions_of_others, .init = start, .fini = stop)
{
    static const char *const names[] = {"hung", "busy", "working", "idle", "stranger"};
    const int64_t start_us = clock_mono_us();
    PGconn *links[5];
    char two[POSTGRES_URL_MAX];

    cr_assert_eq(run(), ST_OK);
    postgres_do(server.url, "ALTER ROLE conv_two LOGIN");
    postgres_url_as(&server, "conv_two", two);
    for (int i = 0; i < 5; i++)
        links[i] = begin_as(i < 4 ? "conv_one" : "postgres", names[i]);
    cr_assert(PQsendQuery(links[2], "SELECT pg_sleep(90)"));
    PQclear(PQexec(links[3], "ROLLBACK"));
    for (; is_there("hung"); usleep(50000)) {
        PQclear(PQexec(links[1], "SELECT 1"));
        cr_assert_leq(postgres_integer(two, "SELECT count(*) FROM migration.end_hung_sessions()"),
                      1);
        cr_assert_lt(clock_mono_us() - start_us, 60 * 1000000);
    }
    cr_assert_geq(clock_mono_us() - start_us, 5 * 1000000);
    cr_assert(is_there("busy") && is_there("working") && is_there("idle") && is_there("stranger"));
    cr_assert_eq(COUNT("(SELECT) x WHERE has_function_privilege('public', "
                       "'migration.end_hung_sessions()', 'EXECUTE')"),
                 0);
    for (int i = 0; i < 5; i++)
        PQfinish(links[i]);
}

/* What takes a minute, made to take a second. */
Test(apply, lets_services_end_transactions_of_others_that_last_whatever_they_do, .init = start,
     .fini = stop)
{
    const int64_t start_us = clock_mono_us();
    PGconn *works, *stranger;
    char two[POSTGRES_URL_MAX];

    cr_assert_eq(run(), ST_OK);
    postgres_do(
        server.url,
        "DO $do$ BEGIN EXECUTE replace(pg_get_functiondef("
        "'migration.end_hung_sessions()'::regprocedure), '60 seconds', '1 second'); END $do$");
    postgres_do(server.url, "ALTER ROLE conv_two LOGIN");
    postgres_url_as(&server, "conv_two", two);
    works = begin_as("conv_one", "works");
    stranger = begin_as("postgres", "stranger");
    cr_assert(PQsendQuery(works, "SET statement_timeout = 0; SELECT pg_sleep(90)"));
    cr_assert(PQsendQuery(stranger, "SELECT pg_sleep(90)"));
    for (; is_there("works"); usleep(50000)) {
        (void)postgres_integer(two, "SELECT count(*) FROM migration.end_hung_sessions()");
        cr_assert_lt(clock_mono_us() - start_us, 60 * 1000000);
    }
    cr_assert(is_there("stranger"));
    PQfinish(works);
    PQfinish(stranger);
}

Test(apply, refuses_to_start_when_an_applied_file_was_changed, .init = start, .fini = stop)
{
    cr_assert_eq(run(), ST_OK);
    postgres_do(server.url, "DELETE FROM migration.applied WHERE service = 'two'");
    list[0].checksum = "xx";
    cr_assert_eq(run(), ST_REFUSED);
    cr_assert_eq(COUNT("migration.applied WHERE service = 'two'"), 0);
}

Test(apply, rolls_a_failed_migration_back_and_keeps_those_before_it, .init = start, .fini = stop)
{
    list[1].text = "INSERT INTO one.t VALUES (1); SELECT 1 / 0;";
    cr_assert_eq(run(), ST_INTERNAL);
    cr_assert_eq(COUNT("one.t"), 0);
    cr_assert_eq(COUNT("migration.applied"), 1);

    list[1].text = "INSERT INTO one.t VALUES (1);";
    cr_assert_eq(run(), ST_OK);
    cr_assert_eq(COUNT("migration.applied"), 3);
}

static void *run_in_thread(void *result)
{
    *(enum status *)result = run();
    return NULL;
}

Test(apply, waits_for_another_migration_in_progress, .init = start, .fini = stop)
{
    pthread_t threads[4];
    enum status results[4];

    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, run_in_thread, &results[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        cr_expect_eq(results[i], ST_OK);
    }
    cr_assert_eq(COUNT("one.t"), 1);
}

/* -- while services run ------------------------------------------------------------------------ */

static void await_lock_wait(struct db_admin *admin)
{
    static const struct db_statement waiting = {
        "waiting",
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'one.t'::regclass",
        "count"};

    do
        cr_assert_eq(db_admin_query(admin, &waiting, NULL, 0), ST_OK);
    while (strcmp(db_admin_value(admin, 0, 0), "1") != 0);
}

/* A service's session has locked one.t and waits for a lock of the migration. PostgreSQL ends the
   migration, which has waited longer. */
Test(apply, tries_again_what_a_deadlock_with_a_service_ended, .init = start, .fini = stop)
{
    struct db_admin *other = NULL;
    pthread_t thread;
    enum status result;
    char error[DB_ADMIN_WHY];

    cr_assert_eq(run(), ST_OK);
    postgres_do(server.url, "CREATE TABLE one.u (a integer);"
                            "DELETE FROM migration.applied WHERE service = 'two'");
    list[2].text = "INSERT INTO one.u VALUES (1); LOCK one.u; LOCK one.t;";
    cr_assert_eq(db_admin_open(server.url, "test", 10, &other, error), ST_OK, "%s", error);
    cr_assert_eq(
        db_admin_script(other, "SET deadlock_timeout = '60s'; BEGIN; LOCK one.t IN SHARE MODE"),
        ST_OK);
    cr_assert_eq(pthread_create(&thread, NULL, run_in_thread, &result), 0);
    await_lock_wait(other);
    cr_assert_eq(db_admin_script(other, "SELECT FROM one.u; COMMIT"), ST_OK);
    pthread_join(thread, NULL);
    db_admin_free(other);
    cr_assert_eq(result, ST_OK);
    cr_assert_eq(COUNT("one.u"), 1);
    cr_assert_eq(COUNT("migration.applied"), 3);
}

static bool can_be_read(struct db_admin *reader)
{
    return db_admin_script(reader, "SET lock_timeout = '2s'; SELECT FROM one.t") == ST_OK;
}

/* As during a dump of the database: later sessions queue behind a waiting migration. */
Test(apply, does_not_block_others_while_a_table_is_locked_for_long, .init = start, .fini = stop)
{
    struct db_admin *other = NULL, *reader = NULL;
    pthread_t thread;
    enum status result;
    char error[DB_ADMIN_WHY];

    cr_assert_eq(run(), ST_OK);
    postgres_do(server.url, "DELETE FROM migration.applied WHERE service = 'two'");
    list[2].text = "ALTER TABLE one.t ADD COLUMN b integer";
    cr_assert_eq(db_admin_open(server.url, "test", 10, &other, error), ST_OK, "%s", error);
    cr_assert_eq(db_admin_open(server.url, "test", 10, &reader, error), ST_OK, "%s", error);
    cr_assert_eq(db_admin_script(other, "BEGIN; SELECT FROM one.t"), ST_OK);
    cr_assert_eq(pthread_create(&thread, NULL, run_in_thread, &result), 0);
    for (int i = 0; i < 7; i++) {
        await_lock_wait(other);
        cr_assert(can_be_read(reader), "%s", db_admin_error(reader));
    }
    cr_assert_eq(db_admin_script(other, "COMMIT"), ST_OK);
    pthread_join(thread, NULL);
    db_admin_free(other);
    db_admin_free(reader);
    cr_assert_eq(result, ST_OK);
    cr_assert_eq(COUNT("migration.applied"), 3);
}

Test(apply, shows_a_state_without_changing_anything, .init = start, .fini = stop)
{
    struct db_admin *admin = NULL;
    char error[DB_ADMIN_WHY];

    cr_assert_eq(db_admin_open(server.url, "test", 10, &admin, error), ST_OK, "%s", error);
    cr_assert_eq(plan_print(admin, list, 3), ST_OK);
    db_admin_free(admin);
    cr_assert_eq(COUNT("pg_namespace WHERE nspname = 'migration'"), 0);
}

#include "services/migrate/apply.h"

#include <criterion/criterion.h>
#include <pthread.h>

#include "tests/support/postgres_server.h"

static struct postgres_server server;

static const struct role roles[] = {{"conv_one", "secret"}, {"conv_two", ""}};

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
    char error[256];
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

Test(apply, waits_for_whoever_migrates_already, .init = start, .fini = stop)
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

Test(apply, shows_a_state_without_changing_anything, .init = start, .fini = stop)
{
    struct db_admin *admin = NULL;
    char error[256];

    cr_assert_eq(db_admin_open(server.url, "test", 10, &admin, error), ST_OK, "%s", error);
    cr_assert_eq(apply_status(admin, list, 3), ST_OK);
    db_admin_free(admin);
    cr_assert_eq(COUNT("pg_namespace WHERE nspname = 'migration'"), 0);
}

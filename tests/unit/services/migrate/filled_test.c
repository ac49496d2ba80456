/* What a migration does to tables that have rows, while services write to them. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>

#include "services/migrate/apply.h"
#include "tests/support/postgres_server.h"

static const struct postgres_template template = {
    .name = "filled",
    .roles = {"conv_audit", "conv_conversation", "conv_search", "conv_webhook"},
    .migrations = {"services/audit/migrations/*.sql", "services/webhook/migrations/*.sql"},
};
static struct postgres_server server;

static void start(void)
{
    postgres_server_share(&server, &template);
}

static void stop(void)
{
    postgres_server_stop(&server);
}

/* -- indexes on the log of deliveries ---------------------------------------------------------- */

/* What a version to come might apply. */
static const struct migration next[] = {
    {"webhook", 2, "finished", "of a test",
     "CREATE INDEX deliveries_by_end ON ONLY webhook.deliveries (finished_at)"},
};

#define COUNT(query) postgres_integer(server.url, "SELECT count(*) FROM " query)
#define OF_MIGRATION "indisvalid AND pg_get_indexdef(indexrelid) LIKE '%(finished_at)'"
#define INDEXED                                                                                    \
    "pg_index JOIN pg_inherits ON inhrelid = indrelid"                                             \
    " WHERE inhparent = 'webhook.deliveries'::regclass AND " OF_MIGRATION
#define DAYS     "pg_inherits WHERE inhparent = 'webhook.deliveries'::regclass"
#define COMPLETE "pg_index WHERE indrelid = 'webhook.deliveries'::regclass AND " OF_MIGRATION

static enum status migrate(void)
{
    const struct apply_options options = {
        .migrations = next, .n_migrations = ARRAY_SIZE(next), .lock_wait_s = 20};
    struct db_admin *admin = NULL;
    char error[DB_ADMIN_WHY];
    enum status st;

    cr_assert_eq(db_admin_open(server.url, "migrate", 10, &admin, error), ST_OK, "%s", error);
    st = apply_all(admin, &options);
    db_admin_free(admin);
    return st;
}

static void *migrate_in_thread(void *result)
{
    *(enum status *)result = migrate();
    return NULL;
}

static const char add_delivery[] =
    "SET lock_timeout = '5s';"
    "INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,"
    " event_type, cause, state, finished_at)"
    " SELECT gen_random_uuid(), now(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(),"
    "        'x', 'event', 'failed', now()";

/* What adding a delivery locks, except for the log as a whole, for whose lock the migration would
   wait. */
static const char lock_today[] =
    "DO $$ BEGIN EXECUTE format('LOCK TABLE webhook.deliveries_%s IN ROW EXCLUSIVE MODE',"
    " to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM_DD')); END $$";

static void add_day(const char *day)
{
    const int64_t indexed = COUNT(INDEXED);
    char query[80];

    (void)snprintf(query, sizeof(query), "SELECT webhook.make_partition('%s 00:00+00')", day);
    postgres_do(server.url, query);
    cr_assert_eq(COUNT(INDEXED), indexed + 1, "a new day has its own at once");
}

/* Writers continue while an index is built, and the next run completes one that was interrupted. */
Test(filled, a_log_with_deliveries_is_indexed_while_more_come, .init = start, .fini = stop)
{
    struct db_admin *holder = NULL;
    pthread_t thread;
    enum status result;
    char error[DB_ADMIN_WHY];

    postgres_do(server.url, add_delivery);
    cr_assert_eq(db_admin_open(server.url, "holder", 10, &holder, error), ST_OK, "%s", error);
    cr_assert_eq(db_admin_script(holder, "BEGIN"), ST_OK);
    cr_assert_eq(db_admin_script(holder, lock_today), ST_OK);
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(pthread_create(&thread, NULL, migrate_in_thread, &result), 0);
        postgres_await(server.url,
                       "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'migrate'"
                       " AND datname = current_database() AND query LIKE '%INDEX CONCURRENTLY%'"
                       " AND wait_event_type = 'Lock'");
        postgres_do(server.url, add_delivery);
        if (round == 0)
            postgres_do(server.url, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE"
                                    " application_name = 'migrate'"
                                    " AND datname = current_database()");
        else
            cr_assert_eq(db_admin_script(holder, "COMMIT"), ST_OK);
        pthread_join(thread, NULL);
        cr_assert_eq(result, round == 0 ? ST_INTERNAL : ST_OK);
        cr_assert_eq(COUNT(COMPLETE), round);
        add_day(round == 0 ? "2031-01-01" : "2031-01-02");
    }
    db_admin_free(holder);
    cr_assert_eq(COUNT(INDEXED), COUNT(DAYS));
    cr_assert_eq(COUNT("webhook.deliveries"), 3);
    cr_assert_eq(migrate(), ST_OK);
    cr_assert_eq(COUNT("migration.applied"), 1);
}

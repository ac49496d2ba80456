/* What the services' migrations do to tables that have rows. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>

#include "services/migrate/apply.h"
#include "tests/support/postgres_server.h"

static const struct postgres_template template = {
    .name = "filled",
    .roles = {"conv_access", "conv_audit", "conv_conversation", "conv_search", "conv_webhook"},
    .migrations = {"services/access/migrations/*.sql", "services/audit/migrations/000[1-8]_*.sql",
                   "services/webhook/migrations/000[1-8]_*.sql"},
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

static void run_file(const char *path)
{
    static char text[65536];
    FILE *const file = fopen(path, "r");
    size_t n;

    cr_assert_not_null(file, "%s", path);
    n = fread(text, 1, sizeof(text) - 1, file);
    cr_assert_lt(n, sizeof(text) - 1);
    text[n] = '\0';
    (void)fclose(file);
    postgres_do(server.url, text);
}

#define COUNT(query) postgres_integer(server.url, "SELECT count(*) FROM " query)

/* -- the bounds of the audit log --------------------------------------------------------------- */

#define VALIDATE "services/audit/migrations/0009_validate_bounds.sql"
#define UNLOOKED_AT(table)                                                                         \
    "pg_constraint WHERE conrelid = '" table "'::regclass AND contype = 'c' AND NOT convalidated"

Test(filled, bounds_hold_for_all_of_a_audit_log_without_rows, .init = start, .fini = stop)
{
    cr_assert_gt(COUNT(UNLOOKED_AT("audit.entries")), 0);
    run_file(VALIDATE);
    cr_assert_eq(COUNT(UNLOOKED_AT("audit.entries")), 0);
    cr_assert_eq(COUNT(UNLOOKED_AT("audit.changes")), 0);
}

Test(filled, a_audit_log_with_rows_is_not_read_through, .init = start, .fini = stop)
{
    postgres_do(server.url,
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome)"
                " SELECT id, audit.time_of(id), id, id, 'ping', 200, 'allowed'"
                "   FROM (SELECT '01920000-0000-7000-8000-000000000001'::uuid AS id) AS one");
    run_file(VALIDATE);
    cr_assert_gt(COUNT(UNLOOKED_AT("audit.entries")), 0);
    cr_assert_eq(COUNT(UNLOOKED_AT("audit.changes")), 0);
    postgres_do(server.url, "SELECT audit.make_partition('2031-01-01 00:00+00')");
}

/* -- indexes on the log of deliveries ---------------------------------------------------------- */

#define RESENDS "services/webhook/migrations/0009_resends.sql"
#define INDEXED                                                                                    \
    "pg_index JOIN pg_inherits ON inhrelid = indrelid"                                             \
    " WHERE inhparent = 'webhook.deliveries'::regclass AND indpred IS NOT NULL AND indisvalid"
#define DAYS "pg_inherits WHERE inhparent = 'webhook.deliveries'::regclass"
#define COMPLETE                                                                                   \
    "pg_index WHERE indrelid = 'webhook.deliveries'::regclass AND indpred IS NOT NULL"             \
    " AND indisvalid"

static enum status migrate(void)
{
    const struct apply_options options = {.lock_wait_s = 20};
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

Test(filled, a_log_without_deliveries_is_indexed_at_once, .init = start, .fini = stop)
{
    run_file(RESENDS);
    cr_assert_eq(COUNT(INDEXED), 2 * COUNT(DAYS));
    cr_assert_eq(COUNT(COMPLETE), 2);
}

/* Writers continue while an index is built, and the next run completes one that was interrupted. */
Test(filled, a_log_with_deliveries_is_indexed_while_more_come, .init = start, .fini = stop)
{
    struct db_admin *holder = NULL;
    pthread_t thread;
    enum status result;
    char error[DB_ADMIN_WHY];

    postgres_do(server.url, add_delivery);
    run_file(RESENDS);
    cr_assert_eq(COUNT(INDEXED), 0);
    postgres_do(server.url, "SELECT webhook.make_partition('2031-01-01 00:00+00')");
    cr_assert_eq(COUNT(INDEXED), 2, "a new day has its own at once");
    cr_assert_eq(db_admin_open(server.url, "holder", 10, &holder, error), ST_OK, "%s", error);
    cr_assert_eq(db_admin_script(holder, "BEGIN"), ST_OK);
    cr_assert_eq(db_admin_script(holder, add_delivery), ST_OK);
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
    }
    db_admin_free(holder);
    cr_assert_eq(COUNT(INDEXED), 2 * COUNT(DAYS));
    cr_assert_eq(COUNT(COMPLETE), 2);
    cr_assert_eq(COUNT("webhook.deliveries"), 4);
    postgres_do(server.url, "SELECT webhook.make_partition('2031-01-02 00:00+00')");
    cr_assert_eq(COUNT(INDEXED), 2 * COUNT(DAYS));
    cr_assert_eq(migrate(), ST_OK);
}

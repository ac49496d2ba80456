/* The metrics of a whole server, on one with slots and an archive that takes nothing. */
#include "services/audit/database_watch.h"

#include "common/base/metrics.h"
#include "tests/unit/services/audit/seal_fixture.h"

static struct database_watch watch;

static void start_server(void)
{
    arena_init(&arena, 256 << 20);
    postgres_server_prepare(&server);
    postgres_server_configure(&server, "wal_level = logical\n"
                                       "max_prepared_transactions = 1\n"
                                       "archive_mode = on\n"
                                       "archive_command = 'false'\n");
    postgres_server_start(&server);
    postgres_fill(server.url, &template);
    db = postgres_connect_as(&server, "conv_audit", audit_sql, AUDIT_SQL_COUNT);
    database_watch_open(&watch);
}

static void stop_server(void)
{
    db_free(db);
    postgres_server_stop(&server);
    arena_release(&arena);
}

TestSuite(database_watch, .init = start_server, .fini = stop_server);

static void read_all(void)
{
    watch.state_due_us = watch.sizes_due_us = 0;
    database_watch_step(&watch, db, &arena);
    cr_assert_gt(watch.state_due_us, clock_mono_us());
    cr_assert_gt(watch.sizes_due_us, watch.state_due_us, "neither has failed");
}

static int64_t behind(void)
{
    read_all();
    return metric_read(watch.next) - metric_read(watch.oldest);
}

static const char *shown(void)
{
    struct buf out;

    buf_init(&out, &arena, 1024);
    metrics_render(&out);
    return arena_cstr(&arena, buf_str(&out));
}

static void make_transactions(int n)
{
    for (int i = 0; i < n; i++)
        postgres_do(server.url, "SELECT pg_current_xact_id()");
}

/* -- what keeps vacuum from removing rows ------------------------------------------------------ */

Test(database_watch, knows_the_oldest_snapshot_as_long_as_it_is_held)
{
    PGconn *reader;

    cr_assert_eq(behind(), 0);
    cr_assert_eq(metric_read(watch.snapshot), 0);
    reader = session();
    say(reader, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    say(reader, "SELECT 1");
    make_transactions(3);
    cr_expect_eq(behind(), 3);
    postgres_await(server.url, "SELECT (max(clock_timestamp() - xact_start) > interval '1 second')"
                               "::int FROM pg_stat_activity WHERE state LIKE 'idle in%'");
    make_transactions(1);
    cr_expect_eq(behind(), 4);
    cr_expect_geq(metric_read(watch.snapshot), 1);
    say(reader, "COMMIT");
    cr_expect_eq(behind(), 0);
    cr_expect_eq(metric_read(watch.snapshot), 0);
    PQfinish(reader);
}

Test(database_watch, knows_transactions_that_nobody_ends)
{
    postgres_do(server.url, "BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'a'");
    make_transactions(2);
    cr_expect_eq(behind(), 3);
    postgres_do(server.url, "ROLLBACK PREPARED 'a'");
    cr_expect_eq(behind(), 0);
}

Test(database_watch, knows_slots_and_how_much_log_each_keeps)
{
    postgres_do(server.url, "SELECT pg_create_logical_replication_slot('left', 'pgoutput')");
    postgres_do(server.url, "SELECT pg_create_physical_replication_slot('standby', true)");
    make_transactions(5);
    cr_expect_geq(behind(), 5);
    cr_expect(strstr(shown(), "conversations_database_slot_retained_bytes{slot=\"left\"} "));
    cr_expect(strstr(shown(), "conversations_database_slot_retained_bytes{slot=\"standby\"} "));
    postgres_do(server.url, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots");
    cr_expect_eq(behind(), 0);
    cr_expect_null(strstr(shown(), "slot=\""));
}

Test(database_watch, does_not_count_sessions_that_run_vacuum)
{
    PGconn *vacuums = session();

    postgres_do(server.url, "CREATE TABLE large AS SELECT repeat('x', 1000) FROM"
                            " generate_series(1, 10000); DELETE FROM large");
    say(vacuums, "SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1");
    cr_assert(PQsendQuery(vacuums, "VACUUM large"));
    postgres_await(server.url, "SELECT count(*)::int FROM pg_stat_progress_vacuum JOIN"
                               " pg_stat_activity USING (pid) WHERE backend_xmin IS NOT NULL");
    make_transactions(3);
    cr_expect_eq(behind(), 0);
    cr_assert_eq(count("SELECT count(*) FROM pg_stat_progress_vacuum"), 1);
    PQfinish(vacuums);
}

Test(database_watch, knows_how_old_unfrozen_rows_are)
{
    read_all();
    cr_expect_leq(metric_read(watch.unfrozen),
                  count("SELECT max(age(datfrozenxid)) FROM pg_database"));
    cr_expect_gt(metric_read(watch.unfrozen), 0);
}

/* -- the archive ------------------------------------------------------------------------------- */

Test(database_watch, knows_that_archiving_fails_and_what_waits)
{
    read_all();
    cr_expect_eq(metric_read(watch.archive_fails), 0);
    cr_expect_eq(metric_read(watch.archive_waiting), 0);
    postgres_do(server.url, "SELECT pg_switch_wal()");
    postgres_await(server.url, "SELECT failed_count FROM pg_stat_archiver");
    read_all();
    cr_expect_eq(metric_read(watch.archive_fails), 1);
    cr_expect_geq(metric_read(watch.archive_waiting), 1);
    postgres_do(server.url, "ALTER SYSTEM SET archive_command = 'true'");
    postgres_do(server.url, "SELECT pg_reload_conf(), pg_switch_wal()");
    postgres_await(server.url, "SELECT (last_archived_time > last_failed_time)::int"
                               " FROM pg_stat_archiver");
    read_all();
    cr_expect_eq(metric_read(watch.archive_fails), 0);
}

/* -- sizes ------------------------------------------------------------------------------------- */

#define BLOCK(org, number, entries)                                                                \
    "INSERT INTO audit.blocks (organization_id, number, previous_hash, entries, last_xid,"         \
    " last_request_id, made_xid, made_at, request_ids, entry_hashes, block_hash, key_id,"          \
    " signature) VALUES ('" org "', " #number ", '', " #entries ", '1', '" org "', '1', now(),"    \
    " '{}', '', '', '', '');"

Test(database_watch, knows_the_organizations_with_most_entries)
{
    postgres_do(server.url, BLOCK(ORG, 1, 5) BLOCK(ORG, 2, 30) BLOCK(OTHER, 7, 100)
                                BLOCK(OTHER, 8, 110) BLOCK(OTHER, 9, 120));
    postgres_do(server.url, "INSERT INTO audit.blocks SELECT gen_random_uuid(), 1, '', n, '1',"
                            " gen_random_uuid(), '1', now(), '{}', '', '', '', ''"
                            " FROM generate_series(1, 12) AS n");
    read_all();
    cr_expect_geq(metric_read(watch.size), 5000000);
    cr_expect(strstr(shown(), "\nconversations_audit_organization_entries"
                              "{organization_id=\"" ORG "\"} 30\n"
                              "conversations_audit_organization_entries"
                              "{organization_id=\"" OTHER "\"} 20\n"),
              "%s", shown());
    cr_expect(strstr(shown(), "\"} 5\n"));
    cr_expect_null(strstr(shown(), "\"} 4\n"), "the ten largest");
}

/* Two durations are compared: that of a try, and a longer one of the server. */
Test(database_watch, gives_up_on_sizes_after_a_second_and_retries_late)
{
    PGconn *other = session();

    postgres_do(server.url, BLOCK(ORG, 1, 5));
    watch.state_due_us = INT64_MAX;
    say(other, "BEGIN; LOCK TABLE audit.blocks");
    cr_assert(PQsendQuery(other, "SELECT pg_sleep(4)"));
    database_watch_step(&watch, db, &arena);
    cr_assert(PQconsumeInput(other));
    cr_expect(PQisBusy(other), "nothing was sealed for four seconds");
    cr_expect_null(strstr(shown(), "conversations_audit_organization_entries{"));
    cr_expect_gt(watch.sizes_due_us, clock_mono_us() + 500 * INT64_C(1000000));
    PQfinish(other);
}

/* -- moves ------------------------------------------------------------------------------------- */

#define PUBLICATION(n) "move_0192000000007000800000000000000" n /* of ORG, of OTHER */
#define MOVE_LOCK(org) "pg_advisory_lock(hashtextextended('cell.move " org "', 0))"

Test(database_watch, counts_moves_that_nobody_goes_on_with)
{
    PGconn *convctl = session();

    postgres_do(server.url, "INSERT INTO cell.moves VALUES ('" ORG "', 'gone');"
                            " INSERT INTO cell.moves VALUES ('" OTHER "', 'arriving')");
    read_all();
    cr_expect_eq(metric_read(watch.moves), 1, "what is gone is over");
    postgres_do(server.url,
                "CREATE PUBLICATION " PUBLICATION("1") "; CREATE PUBLICATION " PUBLICATION("2"));
    read_all();
    cr_expect_eq(metric_read(watch.moves), 2, "there is something to clean up");
    say(convctl, "SELECT " MOVE_LOCK(OTHER));
    read_all();
    cr_expect_eq(metric_read(watch.moves), 1);
    say(convctl, "SELECT " MOVE_LOCK(ORG));
    read_all();
    cr_expect_eq(metric_read(watch.moves), 0);
    PQfinish(convctl);
}

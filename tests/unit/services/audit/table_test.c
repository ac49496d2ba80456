/* The audit log's table and statements on a real database, as the service's own role. */
#include "services/audit/audit.h"
#include "tests/unit/services/audit/seal_fixture.h"

TestSuite(audit_table, .init = start, .fini = stop);

static struct audit_log_entry entry_of(int http_status, const char *code)
{
    return (struct audit_log_entry){.organization_id = {.b = {1}},
                                    .request_id = uuid_v7(clock_us()),
                                    .api_key_id = {.b = {2}},
                                    .operation = OP_PING,
                                    .http_status = http_status,
                                    .error_code = code};
}

static void record(const struct audit_log_entry *entries, size_t n)
{
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    audit_log_add(db, SQL_RECORD_ENTRIES, entries, n, &arena);
    cr_assert_eq(db_run(db), ST_OK);
    cr_assert_eq(db_commit(db), ST_OK);
}

Test(audit_table, an_entry_that_is_there_stays_as_it_is)
{
    struct audit_log_entry entries[3] = {entry_of(200, NULL), entry_of(403, "https_required"),
                                         entry_of(404, "not_found")};

    record(entries, 2);
    entries[0].http_status = 500;
    entries[0].error_code = "server_error";
    record(entries, 3);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 3);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"
                       " WHERE http_status = 200 AND outcome = 'allowed'"),
                 1);
}

Test(audit_table, twice_in_one_batch_is_once)
{
    struct audit_log_entry entry = entry_of(200, NULL), entries[2] = {entry, entry};

    record(entries, 2);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 1);
}

/* Uses the audit sink as the actor does for appends. */
static void append(struct command *const *commands, size_t n)
{
    size_t first;

    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    first = db_added(db);
    audit_service_sink.add(db, &(struct audit_statements){.entries = SQL_RECORD_ENTRIES}, commands,
                           n, &arena);
    cr_assert_eq(db_commit(db), ST_OK);
    audit_service_sink.on_commit(db_result(db, first), commands, n);
}

Test(audit_table, says_which_entries_were_there_already)
{
    struct audit_log_entry entries[4];
    struct command commands[4] = {{.handler = &audit_append}};
    struct command *all[4];

    for (int i = 0; i < 4; i++) {
        entries[i] = entry_of(200, NULL);
        commands[i] = (struct command){.handler = &audit_append, .state = &entries[i]};
        all[i] = &commands[i];
    }
    entries[3] = entries[2];
    append(&all[1], 1);
    cr_assert_not(commands[1].is_recorded_already);
    append(all, 4);
    cr_assert_not(commands[0].is_recorded_already);
    cr_assert(commands[1].is_recorded_already);
    cr_assert_not(commands[2].is_recorded_already);
    cr_assert(commands[3].is_recorded_already, "its twin was first");
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 3);
}

#define KEEP "SELECT audit.keep_partitions()"
#define LOSE_A_MONTH                                                                               \
    "DO $$ BEGIN EXECUTE 'DROP TABLE audit.entries_' || to_char(now() AT TIME ZONE 'UTC'"          \
    " + interval '2 months', 'YYYY_MM'); END $$"

Test(audit_table, a_missed_month_is_created_later_with_its_rows)
{
    cr_assert_eq(count(KEEP), 0);
    postgres_do(server.url,
                "DO $$ BEGIN EXECUTE 'DROP TABLE audit.entries_'"
                " || to_char(now() AT TIME ZONE 'UTC' + interval '1 month', 'YYYY_MM'); END $$;"
                "INSERT INTO audit.entries VALUES (gen_random_uuid(), date_trunc('month', now())"
                " + interval '1 month 10 days', gen_random_uuid(), gen_random_uuid(), 'ping', 200,"
                " 'allowed')");
    cr_assert_eq(count("SELECT count(*) FROM audit.entries_default"), 1);
    cr_assert_eq(count(KEEP), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries_default"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 1);
    cr_assert_eq(count(KEEP), 0);
}

Test(audit_table, upkeep_creates_missing_partitions_and_then_does_nothing)
{
    struct audit self = {0};

    postgres_do(server.url, LOSE_A_MONTH);
    audit_upkeep(db, &arena, &self);
    cr_assert_gt(self.partitions_due_us, clock_mono_us());
    cr_assert_eq(count(KEEP), 0);
    postgres_do(server.url, LOSE_A_MONTH);
    self.unpartitioned_due_us = INT64_MAX;
    audit_upkeep(db, &arena, &self);
    cr_assert_eq(count(KEEP), 1);
}

Test(audit_table, leaves_a_missing_month_to_the_process_that_has_begun)
{
    PGconn *other = session();

    postgres_do(server.url, LOSE_A_MONTH);
    say(other, "BEGIN; SELECT audit.lock_partitioning()");
    cr_assert_eq(count(KEEP), 0);
    say(other, "ROLLBACK");
    cr_assert_eq(count(KEEP), 1);
    PQfinish(other);
}

/* Counts lines of the plan that read more than the rows of the page. */
static const char plan_function[] =
    "CREATE FUNCTION public.detours(statement text) RETURNS bigint LANGUAGE plpgsql AS $$"
    " DECLARE line text; n bigint := 0; BEGIN"
    "  EXECUTE 'PREPARE page AS ' || statement;"
    "  FOR line IN EXECUTE 'EXPLAIN EXECUTE page (''" ORG "'', 1, "
    "''" ORG "'', 0, 51, NULL, NULL, NULL, NULL, 1000)' LOOP"
    "   n := n + (line ~ 'Seq Scan|Bitmap|-> +(Incremental )?Sort ')::int;"
    "  END LOOP; RETURN n; END $$";

Test(audit_table, a_page_is_read_along_the_key_whatever_the_table_holds)
{
    char query[8192];

    snprintf(query, sizeof(query), "SELECT public.detours($statement$%s$statement$)",
             audit_sql[SQL_LIST_ENTRIES].text);
    postgres_do(server.url, plan_function);
    cr_assert_eq(postgres_integer(role_url, query), 0, "on an empty table");
    postgres_do(server.url,
                "INSERT INTO audit.entries SELECT '" ORG "', now() - i * interval '1 second',"
                " gen_random_uuid(), gen_random_uuid(), 'ping', 200, 'allowed'"
                " FROM generate_series(1, 20000) AS i; ANALYZE audit.entries");
    cr_assert_eq(postgres_integer(role_url, query), 0, "on a full table");
    /* The check itself: it counts a detour if there is one. */
    postgres_do(server.url,
                "DO $$ BEGIN EXECUTE format('ALTER ROLE conv_audit IN DATABASE %I SET"
                " enable_indexscan = off', current_database()); EXECUTE format('ALTER ROLE"
                " conv_audit IN DATABASE %I SET enable_seqscan = on', current_database()); END $$");
    cr_assert_gt(postgres_integer(role_url, query), 0);
}

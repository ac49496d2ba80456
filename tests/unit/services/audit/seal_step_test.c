/* Sealing on a real database: what is sealed, and in which order. */
#include "tests/unit/services/audit/seal_fixture.h"

TestSuite(seal_step, .init = start, .fini = stop);

#define SEALED "SELECT count(*) FROM audit.blocks, unnest(request_ids)"

Test(seal_step, seals_committed_entries_in_a_chain_for_each_organization)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "3 s", 1) ENTRY(OTHER, "2 s", 2) ENTRY(ORG, "1 s", 3));
    seal(&sealing);
    cr_assert(sealing.was_first);
    cr_assert_eq(sealing.sealed, 3);
    cr_assert_eq(sealing.blocks, 2);
    cr_assert_not(sealing.is_behind);
    postgres_do(server.url, ENTRY(ORG, "0 s", 4));
    seal(&sealing);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks WHERE organization_id = '" ORG "'"), 2);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks AS a JOIN audit.blocks AS b "
                       "USING (organization_id) WHERE a.number = 1 AND b.number = 2 "
                       "AND b.previous_hash = a.block_hash AND b.entries = a.entries + 1"),
                 1);
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 0, "nothing is sealed twice");
}

Test(seal_step, waits_for_an_entry_that_commits_late_and_skips_none)
{
    PGconn *slow = session();
    struct seal_step sealing = {0};

    say(slow, "BEGIN;" ENTRY(ORG, "5 s", 1));
    postgres_do(server.url, ENTRY(ORG, "1 s", 2));
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 0, "something older may still turn up");
    cr_assert_gt(sealing.oldest_us, 0);
    say(slow, "COMMIT");
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 2);
    cr_assert_eq(count("SELECT (uuid_send(request_ids[1]) < uuid_send(request_ids[2]))::int "
                       "FROM audit.blocks"),
                 1, "the order is that of transactions");
    PQfinish(slow);
}

Test(seal_step, seals_after_an_older_transaction_that_commits_after_the_seal)
{
    PGconn *slow = session();
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "9 s", 1));
    say(slow, "BEGIN;" ENTRY(ORG, "5 s", 2));
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 1);
    postgres_do(server.url, ENTRY(ORG, "1 s", 3));
    say(slow, "ROLLBACK");
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 1);
    cr_assert_eq(count(SEALED), 2);
    PQfinish(slow);
}

Test(seal_step, seals_a_single_large_transaction_in_several_steps)
{
    struct seal_step sealing = {.entries_max = 100};
    int steps = 0;

    postgres_do(server.url,
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome) SELECT org::uuid, audit.time_of(id), id,"
                " '" ORG "', 'ping', 200, 'allowed' FROM generate_series(1, 125) AS n,"
                " unnest(ARRAY['" ORG "', '" OTHER "']) AS org, test_id(interval '1 s', n) AS id");
    do {
        seal(&sealing);
        steps++;
    } while (sealing.is_behind);
    cr_assert_eq(steps, 3);
    cr_assert_eq(count(SEALED), 250);
    cr_assert_eq(count("SELECT count(DISTINCT (organization_id, id)) "
                       "FROM audit.blocks, unnest(request_ids) AS id"),
                 250);
}

/* More entries than a block holds, and more than a step seals. */
Test(seal_step, seals_one_of_many_entries_with_the_same_place_and_all_others)
{
    struct seal_step sealing = {0};

    postgres_do(server.url,
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome) SELECT '" ORG "', now() + n * interval"
                " '1 microsecond', '" ORG "', '" ORG "', 'ping', 200, 'allowed' FROM"
                " generate_series(1, 6000) AS n");
    postgres_do(server.url, ENTRY(OTHER, "0 s", 1));
    do
        seal(&sealing);
    while (sealing.is_behind);
    seal(&sealing);
    cr_assert_eq(count(SEALED " WHERE organization_id = '" ORG "'"), 1);
    cr_assert_eq(count(SEALED " WHERE organization_id = '" OTHER "'"), 1);
}

Test(seal_step, leaves_the_work_to_the_sealer_that_has_begun)
{
    PGconn *other = session();
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    say(other, "BEGIN; LOCK TABLE audit.sealing IN EXCLUSIVE MODE");
    seal(&sealing);
    cr_assert_not(sealing.was_first);
    cr_assert_eq(count(SEALED), 0);
    say(other, "ROLLBACK");
    seal(&sealing);
    cr_assert_eq(count(SEALED), 1);
    PQfinish(other);
}

Test(seal_step, seals_entries_that_no_service_can_have_appended_with_a_mark)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    postgres_do(server.url, ENTRY(ORG, "1 h", 2));  /* dated back */
    postgres_do(server.url, ENTRY(ORG, "-1 h", 3)); /* dated ahead */
    postgres_do(server.url, "INSERT INTO audit.entries (organization_id, created_at, request_id,"
                            " api_key_id, operation, http_status, outcome) VALUES ('" ORG "',"
                            " now(), gen_random_uuid(), '" ORG "', 'ping', 200, 'allowed')");
    postgres_do(server.url, ENTRY(ORG, "0 s", 4));
    seal(&sealing);
    cr_assert_eq(sealing.misdated, 2);
    cr_assert_eq(sealing.implausible, 1);
    cr_assert_eq(sealing.sealed, 4);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks WHERE implausible = '{1,2,3}'"
                       " AND cardinality(implausible_times) = 3"),
                 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks CROSS JOIN LATERAL unnest(implausible,"
                       " implausible_times) AS mark (place, at) JOIN audit.entries ON"
                       " created_at = at AND request_id = request_ids[place]"),
                 3);
    seal(&sealing);
    cr_assert_eq(sealing.implausible + sealing.misdated, 0, "they are reported once");
}

/* From now on the database's clock is that many seconds ahead, for statements of the service. */
static void set_clock(int seconds)
{
    char statement[512];

    (void)snprintf(
        statement, sizeof(statement),
        "CREATE SCHEMA IF NOT EXISTS skewed; GRANT USAGE ON SCHEMA skewed TO conv_audit;"
        "CREATE OR REPLACE FUNCTION skewed.clock_timestamp() RETURNS timestamptz LANGUAGE"
        " sql AS $$ SELECT pg_catalog.clock_timestamp() + interval '%d s' $$",
        seconds);
    postgres_do(server.url, statement);
}

/* From now on the service's statements see that clock. */
static void skew(void)
{
    set_clock(0);
    postgres_do(server.url, "DO $$ BEGIN EXECUTE format('ALTER ROLE conv_audit IN DATABASE %I SET"
                            " search_path = skewed, pg_catalog', current_database()); END $$");
    db_free(db);
    db = postgres_connect_as(&server, "conv_audit", audit_sql, AUDIT_SQL_COUNT);
}

#define FOUR_ENTRIES                                                                               \
    ENTRY(ORG, "0 s", 1) ENTRY(ORG, "0 s", 2) ENTRY(ORG, "0 s", 3) ENTRY(OTHER, "0 s", 4)
#define MARKED "SELECT count(*) FROM audit.blocks WHERE cardinality(implausible) > 0"

static void seal_all(struct seal_step *sealing)
{
    do
        seal(sealing);
    while (sealing->is_behind);
    cr_assert_not(seal_step_has_stopped(sealing));
}

/* One step that finds the clock wrong; it reads no entries, which are locked. The difference shown
   is too small by the time that the answer takes, at most. */
static void find_wrong(struct seal_step *sealing, int ahead_s)
{
    PGconn *other = session();
    int64_t began_us, took_ms;

    say(other, "BEGIN; LOCK TABLE audit.entries");
    began_us = clock_us();
    seal(sealing);
    took_ms = (clock_us() - began_us) / 1000;
    cr_assert(seal_step_has_stopped(sealing));
    cr_assert_not(sealing->is_behind, "it would try again at once");
    cr_assert_leq(llabs(sealing->clock_skew_ms + 1000LL * ahead_s), took_ms + 2);
    say(other, "ROLLBACK");
    PQfinish(other);
}

Test(seal_step, waits_while_the_databases_clock_is_wrong_and_marks_nothing)
{
    static const int wrong[] = {-90, 130, 10, -10, 3600, -3600};
    struct seal_step sealing = {.entries_max = 3};

    skew();
    for (int i = 0; i < (int)ARRAY_SIZE(wrong); i++) {
        postgres_do(server.url, FOUR_ENTRIES);
        set_clock(wrong[i]);
        find_wrong(&sealing, wrong[i]);
        cr_assert_eq(count(SEALED), 4 * i);
        set_clock(0);
        seal_all(&sealing);
        cr_assert_eq(count(SEALED), 4 * i + 4);
    }
    cr_assert_eq(count(MARKED), 0);
}

Test(seal_step, does_not_wait_while_the_clocks_differ_by_less_than_five_seconds)
{
    static const int nearly_right[] = {4, -4};
    struct seal_step sealing = {0};

    skew();
    for (int i = 0; i < (int)ARRAY_SIZE(nearly_right); i++) {
        postgres_do(server.url, FOUR_ENTRIES);
        set_clock(nearly_right[i]);
        seal_all(&sealing);
        cr_assert_eq(count(SEALED), 4 * i + 4);
    }
    cr_assert_eq(count(MARKED), 0);
}

/* Rows that only the owner can insert, to whom the bounds do not apply. */
Test(seal_step, skips_entries_without_a_place_or_time_and_continues)
{
    struct seal_step sealing = {.entries_max = 2};

    postgres_do(server.url,
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome) SELECT '" ORG "', at, gen_random_uuid(),"
                " '" ORG "', repeat('x', 1000000), 200, 'allowed' FROM unnest('{infinity,-infinity,"
                "294276-12-31,4713-01-01 BC,2026-01-01}'::timestamptz[]) AS at");
    postgres_do(server.url, ENTRY(OTHER, "0 s", 4));
    do
        seal(&sealing);
    while (sealing.is_behind);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks WHERE organization_id = '" OTHER "'"), 1);
    cr_assert_eq(count("SELECT sum(cardinality(implausible)) FROM audit.blocks"), 2);
}

Test(seal_step, seals_entries_that_had_to_wait_for_a_long_transaction_however_old)
{
    PGconn *one = session(), *two = session();
    struct seal_step sealing = {0};

    /* Two long transactions that overlap, neither of them about the audit log. */
    say(one, "BEGIN; SELECT pg_current_xact_id()");
    postgres_do(server.url, ENTRY(ORG, "10 min", 1));
    say(two, "BEGIN; SELECT pg_current_xact_id()");
    postgres_do(server.url, ENTRY(ORG, "9 min", 2));
    say(one, "COMMIT");
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 1);
    say(two, "COMMIT");
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 1,
                 "made before the first block, in a transaction that began before");
    cr_assert_eq(sealing.implausible + sealing.misdated, 0);
    PQfinish(one);
    PQfinish(two);
}

/* The seal has passed over the organization while it was closed for a move. */
Test(seal_step, continues_with_an_organization_that_is_open_again)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&sealing);
    postgres_do(server.url, ENTRY(ORG, "11 s", 2) "INSERT INTO cell.moves (organization_id, state)"
                                                  " VALUES ('" ORG "', 'closed')");
    postgres_do(server.url, ENTRY(OTHER, "1 s", 3));
    seal(&sealing);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks WHERE organization_id = '" ORG "'"), 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks WHERE organization_id = '" OTHER "'"), 1);

    postgres_do(server.url, "UPDATE cell.moves SET since = now() - interval '5 s'");
    seal(&sealing);
    seal(&sealing);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks WHERE organization_id = '" ORG "'"), 1);

    postgres_do(server.url, "UPDATE cell.moves SET since = now() - interval '11 s'");
    seal(&sealing);
    seal(&sealing);
    cr_assert_eq(sealing.implausible + sealing.misdated, 0);
    cr_assert_eq(count("SELECT max(entries) FROM audit.blocks WHERE organization_id = '" ORG "'"),
                 2);
    cr_assert_eq(count("SELECT count(*) FROM cell.moves WHERE state = 'leaving'"), 1);
}

/* There may be thousands of entries, and looking up their number reads a table. */
Test(seal_step, looks_up_one_number_for_all_entries_that_it_has_passed_over)
{
    PGconn *opener = session();
    PGresult *calls;

    postgres_do(server.url, ENTRY(ORG, "3 s", 1) ENTRY(ORG, "2 s", 2) ENTRY(ORG, "1 s", 3));
    say(opener, "SET track_functions = 'all'; BEGIN;"
                "SELECT audit.renumber('" ORG "', NULL)");
    calls = PQexec(opener, "SELECT calls FROM pg_stat_xact_user_functions"
                           " WHERE schemaname = 'audit' AND funcname = 'number_of'");
    cr_expect_str_eq(PQgetvalue(calls, 0, 0), "1");
    PQclear(calls);
    say(opener, "COMMIT");
    cr_expect_eq(count("SELECT count(DISTINCT xid) FROM audit.entries"), 1);
    PQfinish(opener);
}

/* Blocks that arrive with an organization have numbers of the other cell, below all of this one, and
   are made while entries wait here: they prove nothing about these. */
Test(seal_step, goes_by_no_time_of_a_block_that_arrives)
{
    PGconn *slow = session();
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(OTHER, "0 s", 1));
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 1, "a block of another cell, for what follows");
    postgres_do(server.url, "SELECT audit.raise_numbers(pg_current_xact_id())");

    sealing = (struct seal_step){0};
    postgres_do(server.url, ENTRY(ORG, "85 s", 2));
    say(slow, "BEGIN; SELECT pg_current_xact_id()");
    postgres_do(server.url, ENTRY(ORG, "80 s", 3));
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 1);
    cr_assert_eq(sealing.misdated, 0, "the other block is the place, and not of this server");
    say(slow, "COMMIT");
    seal(&sealing);
    cr_assert_eq(sealing.sealed, 1);
    cr_assert_eq(sealing.misdated, 0, "the other block is the only one before this entry");

    postgres_do(server.url, ENTRY(ORG, "80 s", 4));
    seal(&sealing);
    cr_assert_eq(sealing.misdated, 1, "a block of this server was made before this entry");
    PQfinish(slow);
}

/* However many moves there are: what comes from another cell stays apart. */
Test(seal_step, raises_numbers_far_above_those_of_another_cell)
{
    for (int i = 0; i < 3; i++) {
        postgres_do(server.url, "SELECT audit.raise_numbers('5000000000')");
        cr_expect_eq(count("SELECT (audit.here_above() > '7147483648')::int"), 1);
        cr_expect_eq(count("SELECT (audit.horizon() < '20000000000')::int"), 1, "not each time");
    }
}

/* A vacuum of millions of entries takes minutes, and is not to be waited for. */
Test(seal_step, raises_numbers_while_a_partition_is_vacuumed)
{
    PGconn *vacuum = session();

    say(vacuum, "BEGIN; LOCK TABLE audit.entries_default IN SHARE UPDATE EXCLUSIVE MODE");
    postgres_do(server.url, "SELECT audit.raise_numbers('5000000000')");
    postgres_do(server.url, ENTRY(ORG, "0 s", 1));
    cr_expect_eq(count("SELECT (min(xid) > '5000000000')::int FROM audit.entries"), 1);
    postgres_do(server.url, "UPDATE audit.entries SET xid = '50000000000'");
    cr_expect_eq(count("SELECT (audit.continue_numbers() > 0)::int"), 1);
    PQfinish(vacuum);
}

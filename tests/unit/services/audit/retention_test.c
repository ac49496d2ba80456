/* Months are dropped when no organization's minimum forbids it, the oldest first. */
#include "common/base/ascii.h"
#include "common/db/params.h"
#include "services/audit/retention.h"
#include "tests/support/measure.h"
#include "tests/unit/services/audit/seal_fixture.h"

TestSuite(retention, .init = start, .fini = stop);

#define MONTHS "SELECT count(*) FROM pg_inherits WHERE inhparent = 'audit.entries'::regclass"
#define NOTES  "SELECT count(*) FROM audit.dropped"
/* Drops a month without the key: the note has no valid signature. */
#define DROP(months)                                                                               \
    "SELECT (audit.drop_month(" #months ", (SELECT until FROM audit.find_droppable(" #months       \
    ")), NULL, now(), 'test', 'none', sha512('')) IS NOT NULL)::int"

/* The months that began 6, 5 and 4 months ago, with an entry of ORG in the first. */
static void make_old_months(void)
{
    postgres_do(server.url, "SELECT audit.make_partition(date_trunc('month', now(), 'UTC') - n * "
                            "interval '1 month') FROM generate_series(4, 6) AS n;");
    postgres_do(server.url,
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome) VALUES ('" ORG "', date_trunc('month', now(),"
                " 'UTC') - interval '6 months', '" ORG "', '" ORG "', 'ping', 200, 'allowed')");
}

static void expect_raised(PGconn *in, const char *statement)
{
    PGresult *result = PQexec(in, statement);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    cr_expect_str_eq(state != NULL ? state : "none", "P0001", "%s", statement);
    PQclear(result);
}

Test(retention, keeps_months_that_are_not_old_enough)
{
    int64_t months;

    make_old_months();
    months = count(MONTHS);
    cr_assert_eq(count(DROP(6)), 0);
    cr_assert_eq(count(MONTHS), months);
}

/* No comparison with NULL months is true or false: without a check every month would be dropped. */
Test(retention, drops_nothing_if_too_few_months_or_none_are_given)
{
    static const char *const few[] = {"2", "-1", "NULL"};
    PGconn *in = session();
    int64_t months;

    make_old_months();
    months = count(MONTHS);
    say(in, "SET ROLE conv_audit");
    for (size_t i = 0; i < ARRAY_SIZE(few); i++) {
        expect_raised(in, arena_printf(&arena, "SELECT audit.find_droppable(%s)", few[i]));
        expect_raised(in, arena_printf(&arena,
                                       "SELECT audit.drop_month(%s, date_trunc('month', now(),"
                                       " 'UTC') - interval '5 months', NULL, now(), 'test', 'none',"
                                       " sha512(''))",
                                       few[i]));
    }
    cr_assert_eq(count(MONTHS), months);
    PQfinish(in);
}

Test(retention, drops_the_oldest_month_first_and_notes_it)
{
    int64_t months;

    make_old_months();
    months = count(MONTHS);
    cr_assert_eq(count(DROP(4)), 1);
    cr_assert_eq(count(MONTHS), months - 1);
    cr_assert_eq(count("SELECT count(*) FROM audit.entries"), 0);
    cr_assert_eq(count("SELECT count(*) FROM audit.dropped WHERE until = "
                       "date_trunc('month', now(), 'UTC') - interval '5 months'"),
                 1);
    cr_assert_eq(count(DROP(4)), 1);
    cr_assert_eq(count(DROP(4)), 0, "the next is younger");
}

Test(retention, keeps_a_month_for_an_organization_that_wants_it_longer)
{
    make_old_months();
    postgres_do(server.url, "INSERT INTO audit.minimums (organization_id, months) VALUES"
                            " ('" ORG "', 4), ('" ORG "', 12)");
    cr_assert_eq(count(DROP(4)), 0, "the longest minimum applies");
    postgres_do(server.url, "DELETE FROM audit.minimums WHERE months = 12");
    cr_assert_eq(count(DROP(4)), 1);
}

Test(retention, does_not_ask_organizations_that_have_nothing_in_the_month)
{
    make_old_months();
    postgres_do(server.url, "INSERT INTO audit.minimums (organization_id, months) VALUES"
                            " ('" OTHER "', 12)");
    cr_assert_eq(count(DROP(4)), 1);
}

Test(retention, drops_blocks_of_dropped_months_in_steps_except_the_last_one)
{
    struct seal_step sealing = {0};

    for (int i = 0; i < 5; i++) {
        postgres_do(server.url, ENTRY(ORG, "2 s", 1));
        seal(&sealing);
    }
    make_old_months();
    postgres_do(server.url, "UPDATE audit.blocks SET made_at = made_at - interval '7 months'"
                            " WHERE number < 5");
    cr_assert_eq(count("SELECT audit.drop_blocks(10)"), 0, "no month has been dropped");
    cr_assert_eq(count(DROP(4)), 1);
    cr_assert_eq(count("SELECT audit.drop_blocks(2)"), 2);
    cr_assert_eq(count("SELECT min(number) FROM audit.blocks"), 3, "the oldest first");
    cr_assert_eq(count("SELECT audit.drop_blocks(2)"), 1);
    cr_assert_eq(count("SELECT audit.drop_blocks(2)"), 0);
    cr_assert_eq(count("SELECT min(number) FROM audit.blocks"), 4, "the last one that is old");
}

/* An entry that is dated ahead is kept longer than its block would be. */
Test(retention, keeps_a_block_as_long_as_an_entry_with_a_mark_in_it)
{
    struct seal_step sealing = {0};

    for (int i = 0; i < 5; i++) {
        postgres_do(server.url, ENTRY(ORG, "2 s", 1));
        seal(&sealing);
    }
    make_old_months();
    postgres_do(server.url, "UPDATE audit.blocks SET made_at = made_at - interval '7 months',"
                            " implausible = CASE number WHEN 2 THEN '{1}'::int[] ELSE '{}' END,"
                            " implausible_times = CASE number WHEN 2 THEN ARRAY[now()] ELSE '{}'"
                            " END");
    cr_assert_eq(count(DROP(4)), 1);
    cr_assert_eq(count("SELECT audit.drop_blocks(10)"), 3);
    cr_assert_eq(count("SELECT sum(number) FROM audit.blocks"), 2 + 5);
    postgres_do(server.url, "UPDATE audit.blocks SET implausible_times = '{epoch}'"
                            " WHERE number = 2");
    cr_assert_eq(count("SELECT audit.drop_blocks(10)"), 1, "also with a gap after it");
}

Test(retention, keeps_blocks_of_months_that_are_kept)
{
    struct seal_step sealing = {0};

    postgres_do(server.url, ENTRY(ORG, "2 s", 1));
    seal(&sealing);
    postgres_do(server.url, ENTRY(ORG, "1 s", 2));
    seal(&sealing);
    make_old_months();
    cr_assert_eq(count(DROP(4)), 1);
    cr_assert_eq(count("SELECT audit.drop_blocks(10)"), 0);
}

static void run_retention(const struct audit_keys *with)
{
    struct retention_job job = {.months = 4, .keys = with, .name = "audit-0"};

    do
        retention_job_step(&job, db, &arena);
    while (job.due_us <= clock_mono_us());
}

Test(retention, is_done_by_itself_until_there_is_nothing_more_to_drop)
{
    int64_t months;

    make_old_months();
    months = count(MONTHS);
    run_retention(&keys);
    cr_assert_eq(count(MONTHS), months - 2);
    cr_assert_eq(count(NOTES), 2);
}

/* -- notes ------------------------------------------------------------------------------------ */

static const struct note *list_notes(size_t *n)
{
    struct params max = {0};

    params_add_int(&max, &arena, NOTES_MAX);
    cr_assert_eq(db_once(db, SQL_LIST_NOTES, &max, 10 * INT64_C(1000000)), ST_OK);
    return notes_read(db_result(db, 0), &arena, n);
}

Test(retention, signs_its_notes)
{
    const struct note *notes;
    size_t n;

    make_old_months();
    run_retention(&keys);
    notes = list_notes(&n);
    cr_assert_eq(n, 2);
    cr_expect_eq(note_kind(&notes[0], &keys, &arena), NOTE_OURS);
    cr_expect_eq(note_kind(&notes[1], &keys, &arena), NOTE_OURS);
    cr_expect_eq(notes[0].since_us, notes[1].until_us);
    cr_expect_eq(notes[1].since_us, 0);
    cr_expect_eq(notes[0].months, 4);
    cr_expect(str_equal(notes[0].dropped_by, STR("audit-0")));
    cr_expect_eq(notes_reach(notes, n, &keys, &arena), notes[0].until_us);
}

/* During a change of keys, as for blocks. */
Test(retention, leaves_dropping_to_replicas_that_have_the_key_of_the_last_note)
{
    struct retention_job job = {.months = 4, .keys = &keys, .name = "audit-0"};
    struct audit_keys stranger, successor;
    char former[2 * SIGNING_PUBLIC_BYTES + 1];
    const struct note *notes;
    size_t n;

    hex_write(keys.known[0].bytes, SIGNING_PUBLIC_BYTES, former);
    cr_assert(audit_keys_read("another key, which is long enough too", "", &stranger));
    cr_assert(audit_keys_read("another key, which is long enough too", former, &successor));
    make_old_months();
    retention_job_step(&job, db, &arena);
    cr_assert_eq(count(NOTES), 1);
    run_retention(&stranger);
    cr_assert_eq(count(NOTES), 1);
    run_retention(&successor);
    notes = list_notes(&n);
    cr_assert_eq(n, 2);
    cr_expect_eq(notes[0].since_us, notes[1].until_us);
    cr_expect_eq(note_kind(&notes[0], &successor, &arena), NOTE_OURS);
    cr_expect_eq(note_kind(&notes[1], &successor, &arena), NOTE_OURS);
    signing_key_free(stranger.own);
    signing_key_free(successor.own);
}

/* As an attacker would who has the service's role but not the key: the month is dropped, and the
   note shows it. No other month is dropped until the owner has removed that note. */
Test(retention, has_no_valid_note_for_months_that_the_role_drops_without_the_key)
{
    const struct note *notes;
    PGconn *in = session();
    size_t n;

    make_old_months();
    say(in, "SET ROLE conv_audit");
    say(in, DROP(4));
    notes = list_notes(&n);
    cr_assert_eq(n, 1);
    cr_expect_eq(note_kind(&notes[0], &keys, &arena), NOTE_UNKNOWN);
    cr_expect_eq(notes_reach(notes, n, &keys, &arena), 0);
    run_retention(&keys);
    cr_expect_eq(count(NOTES), 1);
    postgres_do(server.url, "DELETE FROM audit.dropped");
    run_retention(&keys);
    cr_expect_eq(count(NOTES), 1);
    PQfinish(in);
}

/* Retention writes its note as it drops the month, so the note of an existing month is false. */
Test(retention, puts_its_note_in_the_place_of_a_false_one)
{
    const struct note *notes;
    size_t n;

    make_old_months();
    postgres_do(server.url, "INSERT INTO audit.dropped (until) SELECT until FROM"
                            " audit.find_droppable(4)");
    notes = list_notes(&n);
    cr_assert_eq(n, 1);
    cr_expect_eq(note_kind(&notes[0], &keys, &arena), NOTE_FORGED, "it is not signed");
    cr_expect_eq(notes_reach(notes, n, &keys, &arena), 0);
    run_retention(&keys);
    notes = list_notes(&n);
    cr_assert_eq(n, 2);
    cr_expect_eq(note_kind(&notes[1], &keys, &arena), NOTE_OURS);
}

/* The database's owner can choose which month may go, but retention does not sign for it. */
Test(retention, signs_for_no_month_that_is_to_be_kept_whatever_the_database_says)
{
    static const char *const untils[] = {"date_trunc('month', now(), 'UTC')",
                                         "date_trunc('month', now(), 'UTC') - interval '3 months'",
                                         "now() - interval '1 year'", "'infinity'"};

    make_old_months();
    for (size_t i = 0; i < ARRAY_SIZE(untils); i++) {
        postgres_do(server.url,
                    arena_printf(&arena,
                                 "CREATE OR REPLACE FUNCTION audit.find_droppable(months integer,"
                                 " OUT partition text, OUT until timestamptz) LANGUAGE sql AS"
                                 " $$ SELECT relname::text, (%s)::timestamptz FROM pg_class"
                                 " WHERE relname ~ '^entries_[0-9]{4}_[0-9]{2}$' ORDER BY relname"
                                 " LIMIT 1 $$",
                                 untils[i]));
        run_retention(&keys);
        cr_expect_eq(count(NOTES), 0, "%s", untils[i]);
    }
}

/* While retention waited for its lock, appends would queue behind it. */
Test(retention, waits_for_no_reader_and_tries_again_later)
{
    struct retention_job job = {.months = 4, .keys = &keys, .name = "audit-0"};
    PGconn *reader = session();
    int64_t months, start_us;

    make_old_months();
    months = count(MONTHS);
    say(reader, "BEGIN; SELECT count(*) FROM audit.entries");
    start_us = clock_mono_us();
    retention_job_step(&job, db, &arena);
    cr_assert_lt(clock_mono_us() - start_us, limit_scaled(500 * INT64_C(1000)));
    cr_assert_gt(job.due_us, clock_mono_us());
    cr_assert_eq(count(MONTHS), months);
    say(reader, "COMMIT");
    job.due_us = 0;
    retention_job_step(&job, db, &arena);
    cr_assert_eq(count(MONTHS), months - 1);
    PQfinish(reader);
}

Test(retention, is_for_ever_unless_it_was_set)
{
    struct retention_job job = {.months = 0};
    int64_t months;

    make_old_months();
    months = count(MONTHS);
    retention_job_step(&job, db, &arena);
    cr_assert_eq(count(MONTHS), months);
}

Test(retention, counts_entries_without_a_monthly_partition)
{
    cr_assert_eq(count("SELECT audit.count_strays()"), 0);
    postgres_do(server.url, ENTRY(ORG, "20 years", 1));
    cr_assert_eq(count("SELECT audit.count_strays()"), 1);
}

Test(retention, makes_this_month_and_the_next_two_ahead)
{
    cr_assert_eq(count("SELECT count(*) FROM generate_series(0, 2) AS n WHERE to_regclass("
                       "'audit.entries_' || to_char(date_trunc('month', now(), 'UTC') + n * "
                       "interval '1 month', 'YYYY_MM')) IS NOT NULL"),
                 3);
    postgres_do(server.url, "DO $$ BEGIN EXECUTE 'DROP TABLE audit.entries_' || to_char("
                            "date_trunc('month', now(), 'UTC') + interval '2 months', 'YYYY_MM');"
                            " END $$");
    cr_assert_eq(count("SELECT audit.keep_partitions()"), 1);
    cr_assert_eq(count("SELECT audit.keep_partitions()"), 0);
}

#define CHANGE(n, age)                                                                             \
    "INSERT INTO audit.changes (organization_id, id, created_at, who, change, detail) VALUES "     \
    "('" ORG "', test_id('" age "', " #n "), now() - interval '" age                               \
    "', 'operator', 'key.create', '{}');"
#define CHANGES "SELECT count(*) FROM audit.changes"

Test(retention, drops_changes_with_the_months_of_the_audit_log)
{
    postgres_do(server.url, CHANGE(1, "400 days") CHANGE(2, "380 days") CHANGE(3, "1 day"));
    cr_expect_eq(count("SELECT audit.drop_changes(1000)"), 0, "nothing was dropped there");
    postgres_do(server.url,
                "INSERT INTO audit.dropped (until) VALUES (now() - interval '200 days')");
    postgres_do(server.url, "INSERT INTO audit.minimums (organization_id, months) VALUES"
                            " ('" ORG "', 24)");
    cr_expect_eq(count("SELECT audit.drop_changes(1000)"), 0, "the organization keeps it longer");
    postgres_do(server.url, "DELETE FROM audit.minimums");
    cr_expect_eq(count("SELECT audit.drop_changes(1)"), 1);
    cr_expect_eq(count("SELECT audit.drop_changes(1000)"), 1);
    cr_expect_eq(count(CHANGES), 1);
}

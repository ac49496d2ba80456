/* Months are dropped when nobody's minimum forbids it, the oldest first. */
#include "services/audit/retire.h"
#include "tests/unit/services/audit/sealed.h"

TestSuite(retention, .init = start, .fini = stop, .timeout = 120);

#define MONTHS       "SELECT count(*) FROM pg_inherits WHERE inhparent = 'audit.entries'::regclass"
#define DROP(months) "SELECT (audit.drop_oldest(" #months ") IS NOT NULL)::int"

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

Test(retention, keeps_months_that_are_not_old_enough)
{
    int64_t months;

    make_old_months();
    months = count(MONTHS);
    cr_assert_eq(count(DROP(6)), 0);
    cr_assert_eq(count(MONTHS), months);
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
    cr_assert_eq(count(DROP(4)), 0, "the longest counts");
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

Test(retention, drops_blocks_behind_their_month_in_steps_but_the_last_of_them)
{
    struct pass pass = {0};

    for (int i = 0; i < 5; i++) {
        postgres_do(server.url, ENTRY(ORG, "2 s", 1));
        seal(&pass);
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

Test(retention, keeps_blocks_of_months_that_are_kept)
{
    struct pass pass = {0};

    postgres_do(server.url, ENTRY(ORG, "2 s", 1));
    seal(&pass);
    postgres_do(server.url, ENTRY(ORG, "1 s", 2));
    seal(&pass);
    make_old_months();
    cr_assert_eq(count(DROP(4)), 1);
    cr_assert_eq(count("SELECT audit.drop_blocks(10)"), 0);
}

Test(retention, is_done_by_itself_until_there_is_nothing_more_to_drop)
{
    struct retire retire = {.months = 4};
    int64_t months;

    make_old_months();
    months = count(MONTHS);
    do
        retire_step(&retire, db, &arena);
    while (retire.due_us <= clock_mono_us());
    cr_assert_eq(count(MONTHS), months - 2);
    cr_assert_eq(count("SELECT count(*) FROM audit.dropped"), 2);
}

Test(retention, is_for_ever_unless_it_was_set)
{
    struct retire retire = {.months = 0};
    int64_t months;

    make_old_months();
    months = count(MONTHS);
    retire_step(&retire, db, &arena);
    cr_assert_eq(count(MONTHS), months);
}

Test(retention, counts_what_no_month_was_made_for)
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

Test(retention, drops_changes_with_the_months_of_the_trail)
{
    postgres_do(server.url, CHANGE(1, "400 days") CHANGE(2, "380 days") CHANGE(3, "1 day"));
    cr_expect_eq(count("SELECT audit.drop_changes(1000)"), 0, "nothing was dropped there");
    postgres_do(server.url,
                "INSERT INTO audit.dropped (until) VALUES (now() - interval '200 days')");
    postgres_do(server.url, "INSERT INTO audit.minimums (organization_id, months) VALUES"
                            " ('" ORG "', 24)");
    cr_expect_eq(count("SELECT audit.drop_changes(1000)"), 0, "the organization wants it longer");
    postgres_do(server.url, "DELETE FROM audit.minimums");
    cr_expect_eq(count("SELECT audit.drop_changes(1)"), 1);
    cr_expect_eq(count("SELECT audit.drop_changes(1000)"), 1);
    cr_expect_eq(count(CHANGES), 1);
}

/* Sealing on a real database: what is sealed, in which order, and what never is. */
#include "tests/unit/services/audit/sealed.h"

TestSuite(pass, .init = start, .fini = stop, .timeout = 120);

#define SEALED "SELECT count(*) FROM audit.blocks, unnest(request_ids)"

Test(pass, seals_what_has_been_committed_a_chain_for_each_organization)
{
    struct pass pass = {0};

    postgres_do(server.url, ENTRY(ORG, "3 s", 1) ENTRY(OTHER, "2 s", 2) ENTRY(ORG, "1 s", 3));
    seal(&pass);
    cr_assert(pass.was_first);
    cr_assert_eq(pass.sealed, 3);
    cr_assert_eq(pass.blocks, 2);
    cr_assert_not(pass.is_behind);
    postgres_do(server.url, ENTRY(ORG, "0 s", 4));
    seal(&pass);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks WHERE organization_id = '" ORG "'"), 2);
    cr_assert_eq(count("SELECT count(*) FROM audit.blocks AS a JOIN audit.blocks AS b "
                       "USING (organization_id) WHERE a.number = 1 AND b.number = 2 "
                       "AND b.previous_hash = a.block_hash AND b.entries = a.entries + 1"),
                 1);
    seal(&pass);
    cr_assert_eq(pass.sealed, 0, "nothing is sealed twice");
}

Test(pass, waits_for_an_entry_that_commits_late_and_skips_none)
{
    PGconn *slow = session();
    struct pass pass = {0};

    say(slow, "BEGIN;" ENTRY(ORG, "5 s", 1));
    postgres_do(server.url, ENTRY(ORG, "1 s", 2));
    seal(&pass);
    cr_assert_eq(pass.sealed, 0, "something older may still turn up");
    cr_assert_gt(pass.oldest_us, 0);
    say(slow, "COMMIT");
    seal(&pass);
    cr_assert_eq(pass.sealed, 2);
    cr_assert_eq(count("SELECT (uuid_send(request_ids[1]) < uuid_send(request_ids[2]))::int "
                       "FROM audit.blocks"),
                 1, "the order is that of transactions");
    PQfinish(slow);
}

Test(pass, seals_behind_an_older_transaction_that_commits_after_the_seal)
{
    PGconn *slow = session();
    struct pass pass = {0};

    postgres_do(server.url, ENTRY(ORG, "9 s", 1));
    say(slow, "BEGIN;" ENTRY(ORG, "5 s", 2));
    seal(&pass);
    cr_assert_eq(pass.sealed, 1);
    postgres_do(server.url, ENTRY(ORG, "1 s", 3));
    say(slow, "ROLLBACK");
    seal(&pass);
    cr_assert_eq(pass.sealed, 1);
    cr_assert_eq(count(SEALED), 2);
    PQfinish(slow);
}

Test(pass, seals_a_single_large_transaction_in_several_steps)
{
    struct pass pass = {.entries_most = 100};
    int steps = 0;

    postgres_do(server.url,
                "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
                " operation, http_status, outcome) SELECT org::uuid, audit.time_of(id), id,"
                " '" ORG "', 'ping', 200, 'allowed' FROM generate_series(1, 125) AS n,"
                " unnest(ARRAY['" ORG "', '" OTHER "']) AS org, test_id(interval '1 s', n) AS id");
    do {
        seal(&pass);
        steps++;
    } while (pass.is_behind);
    cr_assert_eq(steps, 3);
    cr_assert_eq(count(SEALED), 250);
    cr_assert_eq(count("SELECT count(DISTINCT (organization_id, id)) "
                       "FROM audit.blocks, unnest(request_ids) AS id"),
                 250);
}

Test(pass, leaves_the_work_to_whoever_has_begun)
{
    PGconn *other = session();
    struct pass pass = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    say(other, "SELECT pg_advisory_lock(hashtextextended('audit.seal', 0))");
    seal(&pass);
    cr_assert_not(pass.was_first);
    cr_assert_eq(count(SEALED), 0);
    say(other, "SELECT pg_advisory_unlock_all()");
    seal(&pass);
    cr_assert_eq(count(SEALED), 1);
    PQfinish(other);
}

Test(pass, notices_that_the_trail_comes_from_another_cluster)
{
    struct pass pass = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&pass);
    seal(&pass);
    cr_assert_not(pass.is_adrift);
    cr_assert_eq(pass.oldest_us, 0);
    postgres_do(server.url, "UPDATE audit.blocks SET last_xid = '4000000000'");
    seal(&pass);
    cr_assert(pass.is_adrift);
}

Test(pass, does_not_seal_what_no_service_can_have_appended)
{
    struct pass pass = {0};

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    seal(&pass);
    postgres_do(server.url, ENTRY(ORG, "1 h", 2));  /* dated back */
    postgres_do(server.url, ENTRY(ORG, "-1 h", 3)); /* dated ahead */
    postgres_do(server.url, "INSERT INTO audit.entries (organization_id, created_at, request_id,"
                            " api_key_id, operation, http_status, outcome) VALUES ('" ORG "',"
                            " now(), gen_random_uuid(), '" ORG "', 'ping', 200, 'allowed')");
    seal(&pass);
    cr_assert_eq(pass.implausible, 3);
    cr_assert_eq(pass.sealed, 0);
    postgres_do(server.url, ENTRY(ORG, "0 s", 4));
    seal(&pass);
    cr_assert_eq(pass.implausible, 0, "they are told of once");
    cr_assert_eq(pass.sealed, 1);
    cr_assert_eq(count(SEALED), 2);
}

Test(pass, seals_entries_that_had_to_wait_for_a_long_transaction_however_old)
{
    PGconn *one = session(), *two = session();
    struct pass pass = {0};

    /* Two long transactions that overlap, neither of them about the trail. */
    say(one, "BEGIN; SELECT pg_current_xact_id()");
    postgres_do(server.url, ENTRY(ORG, "10 min", 1));
    say(two, "BEGIN; SELECT pg_current_xact_id()");
    postgres_do(server.url, ENTRY(ORG, "9 min", 2));
    say(one, "COMMIT");
    seal(&pass);
    cr_assert_eq(pass.sealed, 1);
    say(two, "COMMIT");
    seal(&pass);
    cr_assert_eq(pass.sealed, 1, "made before the first block, in a transaction that began before");
    cr_assert_eq(pass.implausible, 0);
    PQfinish(one);
    PQfinish(two);
}

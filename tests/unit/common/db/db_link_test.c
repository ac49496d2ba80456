/* Connections to a real PostgreSQL: how they end under a batch. */
#include "common/db/db.h"

#include <criterion/criterion.h>
#include <pthread.h>

#include "tests/unit/common/db/db_fixture.h"

TestSuite(db_link, .init = open_database, .fini = close_database);

Test(db_link, writes_nothing_when_the_backend_dies_before_the_commit)
{
    pthread_t killer;

    open_batch();
    add_int(INSERT, 1);
    cr_assert_eq(db_run(db), ST_OK);
    add_int(SLEEP, 60);
    pthread_create(&killer, NULL, kill_when_asleep, NULL);
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    pthread_join(killer, NULL);
    cr_assert_not(db_is_up(db));
    cr_assert_eq(items(), 0);
    assert_usable();
}

/* The commit was sent, but the server's error about a statement proves that it never ran. */
Test(db_link, is_certain_when_the_backend_dies_in_a_statement_ahead_of_the_commit)
{
    pthread_t killer;

    open_batch();
    add_int(INSERT, 1);
    add_int(SLEEP, 60);
    pthread_create(&killer, NULL, kill_when_asleep, NULL);
    cr_assert_eq(db_commit(db), ST_UNAVAILABLE);
    pthread_join(killer, NULL);
    cr_assert_str_eq(db_last_sqlstate(db), "57P01");
    cr_assert_eq(items(), 0);
    assert_usable();
}

Test(db_link, is_uncertain_when_the_backend_dies_during_the_commit)
{
    pthread_t killer;

    open_batch();
    add_int(INSERT_SLOW_COMMIT, 1);
    cr_assert_eq(db_run(db), ST_OK);
    pthread_create(&killer, NULL, kill_when_asleep, NULL);
    cr_assert_eq(db_commit(db), ST_UNCERTAIN);
    pthread_join(killer, NULL);
    cr_assert_not(db_is_up(db));
    assert_usable();
}

Test(db_link, drops_a_silent_link_after_the_deadline_and_before_it_answers)
{
    int64_t start_us = clock_mono_us(), took_us;

    db_open_batch(db, clock_us() + 100000);
    add_int(SLEEP, 60);
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    took_us = clock_mono_us() - start_us;
    /* The statement would take a minute. */
    cr_assert(took_us >= 200000 && took_us < 30000000, "%ld us", (long)took_us);
    cr_assert_not(db_is_up(db));
    assert_usable();
}

Test(db_link, is_uncertain_when_a_commit_is_not_answered_in_time)
{
    db_open_batch(db, clock_us() + 100000);
    add_int(INSERT_SLOW_COMMIT, 1);
    cr_assert_eq(db_commit(db), ST_UNCERTAIN);
    cr_assert_not(db_is_up(db));
}

Test(db_link, frees_the_locks_of_a_batch_whose_link_it_dropped)
{
    db_open_batch(db, clock_us() + 100000);
    add_int(INSERT, 1);
    add_int(SLEEP, 60);
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    postgres_await(url, "SELECT (count(*) = 0)::int FROM pg_stat_activity"
                        " WHERE wait_event = 'PgSleep' AND datname = current_database()");
}

/* The client's machine has lost power during a batch: neither data nor an end of file arrives. One
   late probe does not mean that the client has vanished. */
Test(db_link, has_the_server_drop_a_client_that_vanished_within_seconds)
{
    int64_t timeout_ms, first_probe_ms;

    open_batch();
    db_add(db, VANISHED, NULL);
    cr_assert_eq(db_run(db), ST_OK);
    timeout_ms = db_value_int(db_result(db, 0), 0, 0);
    first_probe_ms = db_value_int(db_result(db, 0), 0, 1);
    cr_assert(timeout_ms > first_probe_ms && timeout_ms < 10000, "%d ms, a probe is late at %d ms",
              (int)timeout_ms, (int)first_probe_ms);
    db_abandon(db);
}

Test(db_link, notices_between_batches_that_the_server_has_gone)
{
    int64_t until_us = clock_mono_us() + TIMEOUT_US;

    db_check(db);
    cr_assert(db_is_up(db));
    postgres_do(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                     " WHERE application_name = 'db_test' AND datname = current_database()");
    while (db_is_up(db) && clock_mono_us() < until_us)
        db_check(db);
    cr_assert_not(db_is_up(db));
    assert_usable();
}

Test(db_link, runs_nothing_while_the_link_is_down)
{
    struct db *other = db_to(url);

    db_open_batch(other, clock_us() + 30 * INT64_C(1000000));
    db_add(other, COUNT, NULL);
    cr_assert_eq(db_run(other), ST_UNAVAILABLE);
    db_free(other);
}

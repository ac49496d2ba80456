/* Batches on a real PostgreSQL, whose backends are killed and stopped meanwhile. */
#include "common/db/db.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/db/params.h"
#include "tests/unit/common/db/db_fixture.h"

TestSuite(db, .init = open_database, .fini = close_database);

/* -- batches ----------------------------------------------------------------------------------- */

Test(db, commits_all_statements_of_a_batch_as_one_transaction)
{
    open_batch();
    for (int i = 0; i < 100; i++)
        add_int(INSERT, i);
    cr_assert_eq(db_run(db), ST_OK);
    add_int(INSERT, 100);
    cr_assert_eq(items(), 0);
    cr_assert_eq(db_commit(db), ST_OK);
    cr_assert_eq(items(), 101);
    cr_assert_eq(postgres_integer(url, "SELECT count(DISTINCT xmin::text) FROM item"), 1);
}

Test(db, sees_its_earlier_rounds_before_the_commit)
{
    size_t inserted, counted;

    open_batch();
    inserted = add_int(INSERT, 1);
    cr_assert_eq(db_run(db), ST_OK);
    counted = db_add(db, COUNT, NULL);
    cr_assert_eq(db_run(db), ST_OK);
    cr_assert_eq(db_rows_affected(db_result(db, inserted)), 1);
    cr_assert_eq(db_rows_count(db_result(db, counted)), 1);
    cr_assert_eq(db_value_int(db_result(db, counted), 0, 0), 1);
    cr_assert_eq(db_commit(db), ST_OK);
}

Test(db, passes_values_through_and_distinguishes_null_from_empty)
{
    const struct db_rows *rows;
    size_t i;

    open_batch();
    i = db_add(db, ECHO, PARAMS(STR(""), STR_NONE));
    cr_assert_eq(db_commit(db), ST_OK);
    rows = db_result(db, i);
    cr_assert_not_null(db_value(rows, 0, 0).p);
    cr_assert_eq(db_value(rows, 0, 0).n, 0);
    cr_assert_null(db_value(rows, 0, 1).p);
    cr_assert(db_value_bool(rows, 0, 2));
    cr_assert_eq(db_value_int(rows, 0, 3), 42);
    /* Values outside the result or of another type do not abort. */
    cr_assert_null(db_value(rows, 1, 0).p);
    cr_assert_eq(db_value_int(rows, 1, 3), 0);
    cr_assert_eq(db_value_int(rows, 0, 2), 0);
    cr_assert_not(db_value_bool(rows, 0, 3));
}

Test(db, reads_rows_in_binary)
{
    const struct str id = STR("01020304-0506-0708-090a-0b0c0d0e0f10");
    const struct db_rows *rows;
    struct uuid sent, read = {{0}};
    size_t binary, text;

    open_batch();
    binary = db_add_binary(db, TYPED, PARAMS(id));
    text = db_add(db, TYPED, PARAMS(id));
    cr_assert_eq(db_commit(db), ST_OK);
    rows = db_result(db, binary);
    cr_assert(uuid_parse(id, &sent));
    cr_assert(db_value_id(rows, 0, 0, &read));
    cr_assert(uuid_equal(&read, &sent));
    cr_assert_not(db_value_id(rows, 0, 1, &read), "NULL");
    cr_assert(uuid_equal(&read, &sent));
    cr_assert_eq(db_value_int(rows, 0, 2), -7);
    cr_assert_eq(db_value_int(rows, 0, 3) + DB_EPOCH_US, 0);
    cr_assert_not(db_value_id(db_result(db, text), 0, 0, &read), "as text it is none");
}

Test(db, sends_ids_in_binary_and_other_values_as_text)
{
    const struct uuid id = {{0xab}};
    const struct db_rows *rows;
    struct params params = {0};
    struct elements ids;
    struct arena arena;
    size_t some, none;

    arena_init(&arena, 1 << 20);
    ids_open(&ids, &arena, 3);
    ids_add(&ids, &id);
    ids_add(&ids, NULL);
    ids_add_text(&ids, STR("01020304-0506-0708-090a-0b0c0d0e0f10"));
    open_batch();
    params_add(&params, STR("a"));
    params_add_elements(&params, &ids);
    params_add(&params, STR_NONE);
    params_add_bytes(&params, STR_NONE);
    some = db_add(db, IDS, &params);
    params = (struct params){0};
    ids_open(&ids, &arena, 0);
    params_add(&params, STR(""));
    params_add_elements(&params, &ids);
    params_add(&params, STR("b"));
    params_add(&params, STR("{}"));
    none = db_add(db, IDS, &params);
    cr_assert_eq(db_commit(db), ST_OK);
    rows = db_result(db, some);
    cr_assert(str_equal(db_value(rows, 0, 0), STR("a")));
    cr_assert(str_equal(db_value(rows, 0, 1), STR("ab000000-0000-0000-0000-000000000000 none "
                                                  "01020304-0506-0708-090a-0b0c0d0e0f10")));
    cr_assert_null(db_value(rows, 0, 2).p);
    cr_assert_null(db_value(rows, 0, 3).p);
    rows = db_result(db, none);
    cr_assert(str_equal(db_value(rows, 0, 1), STR("")));
    cr_assert(str_equal(db_value(rows, 0, 3), STR("{}")));
    arena_release(&arena);
}

Test(db, sends_texts_and_json_in_binary_as_they_are)
{
    const struct db_rows *rows;
    struct params params = {0};
    struct elements texts, jsons;
    struct arena arena;
    size_t i;

    arena_init(&arena, 1 << 20);
    texts_open(&texts, &arena, 0);
    texts_add(&texts, STR("\"{a,\\b}\""));
    texts_add(&texts, STR_NONE);
    texts_add(&texts, STR(""));
    texts_add(&texts, STR("NULL"));
    jsons_open(&jsons, &arena, 0);
    jsons_add(&jsons, STR("{\"b\": 1.50, \"a\": null}"));
    jsons_add(&jsons, STR_NONE);
    open_batch();
    params_add_elements(&params, &texts);
    params_add_elements(&params, &jsons);
    i = db_add(db, BINARY, &params);
    cr_assert_eq(db_commit(db), ST_OK, "%s", db_last_sqlstate(db));
    rows = db_result(db, i);
    cr_expect(str_equal(db_value(rows, 0, 0), STR("{\"\\\"{a,\\\\b}\\\"\",NULL,\"\",\"NULL\"}")));
    cr_expect(
        str_equal(db_value(rows, 0, 1), STR("{\"{\\\"a\\\": null, \\\"b\\\": 1.50}\",NULL}")));
    arena_release(&arena);
}

Test(db, carries_more_than_the_sockets_hold_in_both_directions)
{
    enum { N = 1000, SIZE = 20000 };
    char *big = malloc(SIZE);
    const struct str text = {big, SIZE};

    memset(big, 'a', SIZE);
    open_batch();
    for (int i = 0; i < N; i++)
        db_add(db, ECHO, PARAMS(text, STR("x")));
    cr_assert_eq(db_run(db), ST_OK);
    for (size_t i = 0; i < N; i++)
        cr_assert_eq(db_value(db_result(db, i), 0, 0).n, SIZE);
    cr_assert_eq(db_commit(db), ST_OK);
    free(big);
}

/* -- without waiting --------------------------------------------------------------------------- */

static void await_ready(void)
{
    struct pollfd socket = {.fd = db_socket(db)};

    while (!db_is_ready(db)) {
        socket.events = db_events(db);
        cr_assert_eq(poll(&socket, 1, TIMEOUT_US / 1000), 1);
    }
}

Test(db, says_when_what_was_sent_is_answered)
{
    enum { SIZE = 20 * 1000 * 1000 };
    char *big = malloc(SIZE);
    size_t echoed;

    memset(big, 'a', SIZE);
    open_batch();
    db_add(db, SLEEP, PARAMS(STR("0.2")));
    echoed = db_add(db, ECHO, PARAMS({big, SIZE}, STR("x")));
    cr_assert_eq(db_send_run(db), ST_OK);
    cr_assert_not(db_is_ready(db));
    await_ready();
    cr_assert_eq(db_run(db), ST_OK);
    cr_assert_eq(db_value(db_result(db, echoed), 0, 0).n, SIZE);
    add_int(INSERT, 1);
    cr_assert_eq(db_send_commit(db), ST_OK);
    await_ready();
    cr_assert_eq(db_commit(db), ST_OK);
    cr_assert_eq(items(), 1);
    free(big);
}

Test(db, is_ready_at_once_when_nothing_was_sent)
{
    open_batch();
    cr_assert_eq(db_send_run(db), ST_OK);
    cr_assert(db_is_ready(db));
    cr_assert_eq(db_run(db), ST_OK);
    cr_assert_eq(db_send_commit(db), ST_OK);
    cr_assert(db_is_ready(db));
    cr_assert_eq(db_commit(db), ST_OK);
    assert_usable();
}

Test(db, is_ready_when_the_statement_failed)
{
    open_batch();
    add_int(INSERT, 1);
    add_int(INSERT, 1);
    cr_assert_eq(db_send_run(db), ST_OK);
    await_ready();
    cr_assert_eq(db_run(db), ST_RETRY);
    cr_assert_eq(items(), 0);
    assert_usable();
}

Test(db, is_ready_when_the_link_was_lost_and_nothing_is_written)
{
    open_batch();
    db_add(db, SLEEP, PARAMS(STR("60")));
    cr_assert_eq(db_send_run(db), ST_OK);
    kill_when_asleep(NULL);
    await_ready();
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    assert_usable();
}

Test(db, is_ready_when_the_link_was_lost_and_the_commit_is_uncertain)
{
    open_batch();
    add_int(INSERT_SLOW_COMMIT, 1);
    cr_assert_eq(db_send_commit(db), ST_OK);
    kill_when_asleep(NULL);
    await_ready();
    cr_assert_eq(db_commit(db), ST_UNCERTAIN);
    assert_usable();
}

Test(db, is_ready_when_its_time_is_over)
{
    db_open_batch(db, clock_us() + 50 * 1000);
    db_add(db, SLEEP, PARAMS(STR("60")));
    cr_assert_eq(db_send_run(db), ST_OK);
    while (!db_is_ready(db))
        poll(NULL, 0, 1);
    cr_assert(db_is_late(db));
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    assert_usable();
}

Test(db, frees_spare_memory_when_it_holds_too_much)
{
    enum { LARGE = 1000000 };
    size_t first, kept, spare, small, other;

    open_batch();
    db_add_spare(db, LARGE + LARGE / 2);
    first = add_int(FILL, LARGE);
    kept = add_int(FILL, LARGE);
    spare = add_int(FILL, LARGE);
    small = add_int(FILL, 1000);
    db_add_spare(db, 0);
    other = add_int(FILL, LARGE);
    cr_assert_eq(db_run(db), ST_OK);
    cr_assert_eq(db_dropped(db, first), 0);
    cr_assert_eq(db_dropped(db, kept), 0);
    cr_assert_geq(db_dropped(db, spare), (size_t)LARGE);
    cr_assert_eq(db_dropped(db, small), 0);
    cr_assert_eq(db_value(db_result(db, small), 0, 0).n, 1000);
    cr_assert_eq(db_value(db_result(db, other), 0, 0).n, LARGE);
    (void)add_int(INSERT, 1);
    cr_assert_eq(db_commit(db), ST_OK);
    cr_assert_eq(items(), 1);
    open_batch();
    first = add_int(FILL, LARGE);
    spare = add_int(FILL, LARGE);
    cr_assert_eq(db_commit(db), ST_OK);
    cr_assert_eq(db_dropped(db, first) + db_dropped(db, spare), 0);
}

Test(db, commits_nothing_for_free)
{
    open_batch();
    cr_assert_eq(db_run(db), ST_OK);
    cr_assert_eq(db_commit(db), ST_OK);
}

Test(db, writes_nothing_of_a_batch_that_is_given_up)
{
    open_batch();
    add_int(INSERT, 1);
    cr_assert_eq(db_run(db), ST_OK);
    add_int(INSERT, 2);
    db_abandon(db);
    cr_assert(db_is_up(db));
    cr_assert_eq(items(), 0);
    assert_usable();
    cr_assert_eq(items(), 1);
}

/* -- statements that fail ---------------------------------------------------------------------- */

Test(db, rolls_all_of_a_batch_back_when_one_statement_fails)
{
    open_batch();
    add_int(INSERT, 1);
    add_int(INSERT, 1);
    add_int(INSERT, 2);
    cr_assert_eq(db_run(db), ST_RETRY);
    cr_assert_str_eq(db_last_sqlstate(db), "23505");
    cr_assert_eq(db_last_statement(db), INSERT);
    cr_assert(db_is_up(db));
    cr_assert_eq(items(), 0);
    assert_usable();
}

Test(db, distinguishes_a_failure_before_the_commit_from_an_uncertain_one)
{
    open_batch();
    add_int(INSERT, 1);
    add_int(INSERT, 1);
    cr_assert_eq(db_commit(db), ST_RETRY);
    cr_assert_eq(items(), 0);
    assert_usable();
}

Test(db, reports_errors_that_only_the_commit_finds)
{
    open_batch();
    add_int(INSERT_DEFERRED, 1);
    add_int(INSERT_DEFERRED, 1);
    cr_assert_eq(db_run(db), ST_OK);
    cr_assert_eq(db_commit(db), ST_RETRY);
    cr_assert_str_eq(db_last_sqlstate(db), "23505");
    cr_assert_eq(db_last_statement(db), -1);
    cr_assert_eq(postgres_integer(url, "SELECT count(*) FROM deferred"), 0);
    assert_usable();
}

/* Proxies and forks of PostgreSQL do not treat a pipeline as one transaction. */
Test(db, is_an_explicit_transaction)
{
    open_batch();
    add_int(INSERT, 1);
    db_add(db, SAVEPOINT, NULL);
    cr_assert_eq(db_commit(db), ST_OK);
    cr_assert_eq(items(), 1);
}

Test(db, leaves_no_transaction_open)
{
    open_batch();
    add_int(INSERT, 1);
    add_int(INSERT, 1);
    cr_assert_eq(db_commit(db), ST_RETRY);
    cr_assert_eq(postgres_integer(url, "SELECT count(*) FROM pg_stat_activity"
                                       " WHERE application_name = 'db_test' AND state = 'idle'"
                                       " AND datname = current_database()"),
                 1);
}

Test(db, prepares_a_statement_again_if_its_columns_have_changed)
{
    postgres_do(url, "ALTER TABLE shape ALTER id TYPE bigint");
    open_batch();
    add_int(INSERT, 1);
    db_add(db, SHAPE, NULL);
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    cr_assert_not(db_is_up(db));
    cr_assert_eq(items(), 0);
    assert_usable();
}

Test(db, keeps_the_link_when_the_server_does_not_support_something)
{
    open_batch();
    db_add(db, UNSUPPORTED, NULL);
    cr_assert_eq(db_run(db), ST_INTERNAL);
    cr_assert_str_eq(db_last_sqlstate(db), "0A000");
    cr_assert(db_is_up(db));
    assert_usable();
}

Test(db, refuses_a_parameter_that_holds_a_nul_and_writes_nothing)
{
    open_batch();
    add_int(INSERT, 1);
    db_add(db, ECHO, PARAMS(STR("a\0b"), STR("c")));
    cr_assert_eq(db_run(db), ST_INTERNAL);
    cr_assert_eq(items(), 0);
    assert_usable();
}

Test(db, calls_an_unexpected_error_internal)
{
    open_batch();
    db_add(db, INSERT, PARAMS(STR("seven")));
    cr_assert_eq(db_run(db), ST_INTERNAL);
    cr_assert_str_eq(db_last_sqlstate(db), "22P02");
    assert_usable();
}

static void assert_sleeps_in_vain(struct db *within)
{
    db_free(db);
    db = within;
    cr_assert_eq(db_connect(db, 30000), ST_OK);
    open_batch();
    add_int(SLEEP, 30);
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    cr_assert_str_eq(db_last_sqlstate(db), "57014");
    cr_assert(db_is_up(db));
    assert_usable();
}

Test(db, keeps_the_link_when_a_statement_took_too_long)
{
    char limited[200];

    snprintf(limited, sizeof(limited), "%s?options=-c%%20statement_timeout%%3D1000", url);
    assert_sleeps_in_vain(db_to(limited));
}

Test(db, gives_a_statement_no_more_time_than_its_options_say)
{
    assert_sleeps_in_vain(db_within(url, 500));
}

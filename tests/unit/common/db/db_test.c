/* The db against a real PostgreSQL, whose backends are killed and stopped under it. One server
   serves all tests of the file; each has a separate database. */
#include "common/db/db.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/db/params.h"
#include "tests/support/port.h"
#include "tests/support/postgres_server.h"

enum { TIMEOUT_US = 30 * 1000 * 1000 };
enum {
    INSERT,
    INSERT_DEFERRED,
    COUNT,
    ECHO,
    SLEEP,
    INSERT_SLOW_COMMIT,
    VANISHED,
    IDS,
    BINARY,
    FILL,
    TYPED,
    SAVEPOINT,
    SHAPE,
    UNSUPPORTED,
};

static const struct db_statement statements[] = {
    {"insert", "INSERT INTO item (id) VALUES ($1::int)", NULL},
    {"insert_deferred", "INSERT INTO deferred (id) VALUES ($1::int)", NULL},
    {"count", "SELECT count(*) FROM item", "count"},
    {"echo", "SELECT $1::text AS a, $2::text AS b, true AS c, 42 AS d", "a b c d"},
    {"sleep", "SELECT pg_sleep($1::float8)", "pg_sleep"},
    {"insert_slow_commit", "INSERT INTO slow (id) VALUES ($1::int)", NULL},
    {"vanished",
     "SELECT regexp_replace(current_setting('tcp_user_timeout'), 'ms$', '')::int AS timeout,"
     " 1000 * (current_setting('tcp_keepalives_idle')::int"
     " + current_setting('tcp_keepalives_interval')::int) AS probes",
     "timeout probes"},
    {"ids",
     "SELECT $1::text AS a, array_to_string($2::uuid[], ' ', 'none') AS b, $3::text AS c, "
     "$4::uuid[] AS d",
     "a b c d"},
    {"binary", "SELECT $1::text[] AS texts, $2::jsonb[] AS jsons", "texts jsons"},
    {"fill", "SELECT repeat('x', $1::int) AS text", "text"},
    {"typed", "SELECT $1::uuid AS id, NULL::uuid AS nil, -7::smallint AS n, to_timestamp(0) AS at",
     "id nil n at"},
    {"savepoint", "SAVEPOINT here", NULL},
    {"shape", "SELECT * FROM shape", "id"},
    {"unsupported", "SELECT unsupported()", "unsupported"},
};

static const char schema[] =
    "CREATE TABLE item (id int PRIMARY KEY);"
    "CREATE TABLE deferred (id int UNIQUE DEFERRABLE INITIALLY DEFERRED);"
    "CREATE TABLE slow (id int);"
    "CREATE TABLE shape (id int);"
    "CREATE FUNCTION unsupported() RETURNS void LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE feature_not_supported; END $$;"
    "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;"
    "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED"
    " FOR EACH ROW EXECUTE FUNCTION slow();";

/* -- a database for each test ------------------------------------------------------------------ */

static const struct postgres_template template = {.name = "items", .script = schema};
static struct postgres_server database;
static const char *const url = database.url;
static struct db *db;

static struct db *db_within(const char *to, int statement_ms)
{
    return db_new(&(struct db_options){
        .url = to,
        .name = "db_test",
        .statements = statements,
        .n_statements = ARRAY_SIZE(statements),
        .statement_ms = statement_ms,
    });
}

static struct db *db_to(const char *to)
{
    return db_within(to, 0);
}

static void open_database(void)
{
    postgres_server_share(&database, &template);
    db = db_to(url);
    cr_assert_eq(db_connect(db, 30000), ST_OK);
}

static void close_database(void)
{
    db_free(db);
}

TestSuite(db, .init = open_database, .fini = close_database);

static void open_batch(void)
{
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
}

static size_t add_int(int statement, int value)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", value);
    return db_add(db, statement, &(db_param){text, strlen(text)}, 1);
}

static int64_t items(void)
{
    return postgres_integer(url, "SELECT count(*) FROM item");
}

/* The link serves the next batch. */
static void assert_usable(void)
{
    cr_assert_eq(db_connect(db, 30000), ST_OK);
    open_batch();
    add_int(INSERT, 1000000);
    cr_assert_eq(db_commit(db), ST_OK);
}

/* Kills the backend once it sleeps inside a statement or a commit. */
static void *kill_when_asleep(void *unused)
{
    postgres_await(url, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                        " WHERE application_name = 'db_test' AND wait_event = 'PgSleep'"
                        " AND datname = current_database()");
    return NULL;
}

/* -- what a batch is --------------------------------------------------------------------------- */

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
    counted = db_add(db, COUNT, NULL, 0);
    cr_assert_eq(db_run(db), ST_OK);
    cr_assert_eq(db_rows_affected(db_result(db, inserted)), 1);
    cr_assert_eq(db_rows_count(db_result(db, counted)), 1);
    cr_assert_eq(db_value_int(db_result(db, counted), 0, 0), 1);
    cr_assert_eq(db_commit(db), ST_OK);
}

Test(db, hands_values_through_and_knows_null_from_empty)
{
    const db_param params[] = {STR(""), STR_NONE};
    const struct db_rows *rows;
    size_t i;

    open_batch();
    i = db_add(db, ECHO, params, 2);
    cr_assert_eq(db_commit(db), ST_OK);
    rows = db_result(db, i);
    cr_assert_not_null(db_value(rows, 0, 0).p);
    cr_assert_eq(db_value(rows, 0, 0).n, 0);
    cr_assert_null(db_value(rows, 0, 1).p);
    cr_assert(db_value_bool(rows, 0, 2));
    cr_assert_eq(db_value_int(rows, 0, 3), 42);
    /* What a statement finds is no reason to end. */
    cr_assert_null(db_value(rows, 1, 0).p);
    cr_assert_eq(db_value_int(rows, 1, 3), 0);
    cr_assert_eq(db_value_int(rows, 0, 2), 0);
    cr_assert_not(db_value_bool(rows, 0, 3));
}

Test(db, reads_rows_in_binary)
{
    const db_param id = STR("01020304-0506-0708-090a-0b0c0d0e0f10");
    const struct db_rows *rows;
    struct uuid sent, read = {{0}};
    size_t binary, text;

    open_batch();
    binary = db_add_binary(db, TYPED, &id, 1, DB_BINARY_ROWS);
    text = db_add(db, TYPED, &id, 1);
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

Test(db, sends_ids_in_binary_beside_text)
{
    const struct uuid id = {{0xab}};
    const struct db_rows *rows;
    struct arena arena;
    struct buf ids;
    size_t some, none;

    arena_init(&arena, 1 << 20);
    ids_open(&ids, &arena, 3);
    ids_add(&ids, &id);
    ids_add(&ids, NULL);
    ids_add_text(&ids, STR("01020304-0506-0708-090a-0b0c0d0e0f10"));
    open_batch();
    some = db_add_binary(db, IDS, (db_param[]){STR("a"), binary_close(&ids), STR_NONE, STR_NONE}, 4,
                         1 << 1 | 1 << 3);
    ids_open(&ids, &arena, 0);
    none = db_add_binary(db, IDS, (db_param[]){STR(""), binary_close(&ids), STR("b"), STR("{}")}, 4,
                         1 << 1);
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
    struct arena arena;
    struct buf texts, jsons;
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
    i = db_add_binary(db, BINARY, (db_param[]){binary_close(&texts), binary_close(&jsons)}, 2, 3);
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
    db_param params[2] = {{big, SIZE}, STR("x")};

    memset(big, 'a', SIZE);
    open_batch();
    for (int i = 0; i < N; i++)
        db_add(db, ECHO, params, 2);
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
    db_add(db, SLEEP, &STR("0.2"), 1);
    echoed = db_add(db, ECHO, (db_param[]){{big, SIZE}, STR("x")}, 2);
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
    db_add(db, SLEEP, &STR("60"), 1);
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
    db_add(db, SLEEP, &STR("60"), 1);
    cr_assert_eq(db_send_run(db), ST_OK);
    while (!db_is_ready(db))
        poll(NULL, 0, 1);
    cr_assert(db_is_late(db));
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    assert_usable();
}

Test(db, throws_away_what_is_spare_when_it_holds_too_much)
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

Test(db, tells_a_failure_before_the_commit_from_an_uncertain_one)
{
    open_batch();
    add_int(INSERT, 1);
    add_int(INSERT, 1);
    cr_assert_eq(db_commit(db), ST_RETRY);
    cr_assert_eq(items(), 0);
    assert_usable();
}

Test(db, reports_what_only_the_commit_finds)
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

/* Proxies and forks of PostgreSQL do not make one of a pipeline by themselves. */
Test(db, is_an_explicit_transaction)
{
    open_batch();
    add_int(INSERT, 1);
    db_add(db, SAVEPOINT, NULL, 0);
    cr_assert_eq(db_commit(db), ST_OK);
    cr_assert_eq(items(), 1);
}

Test(db, leaves_no_transaction_open_behind_it)
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

Test(db, prepares_again_what_has_other_columns_now)
{
    postgres_do(url, "ALTER TABLE shape ALTER id TYPE bigint");
    open_batch();
    add_int(INSERT, 1);
    db_add(db, SHAPE, NULL, 0);
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    cr_assert_not(db_is_up(db));
    cr_assert_eq(items(), 0);
    assert_usable();
}

Test(db, keeps_the_link_when_the_server_does_not_support_something)
{
    open_batch();
    db_add(db, UNSUPPORTED, NULL, 0);
    cr_assert_eq(db_run(db), ST_INTERNAL);
    cr_assert_str_eq(db_last_sqlstate(db), "0A000");
    cr_assert(db_is_up(db));
    assert_usable();
}

Test(db, refuses_a_parameter_that_holds_a_nul_and_writes_nothing)
{
    const db_param nul[] = {STR("a\0b"), STR("c")};

    open_batch();
    add_int(INSERT, 1);
    db_add(db, ECHO, nul, 2);
    cr_assert_eq(db_run(db), ST_INTERNAL);
    cr_assert_eq(items(), 0);
    assert_usable();
}

Test(db, calls_an_unexpected_error_internal)
{
    open_batch();
    db_add(db, INSERT, &STR("seven"), 1);
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

/* -- links that end ---------------------------------------------------------------------------- */

Test(db, writes_nothing_when_the_backend_dies_before_the_commit)
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

/* The commit has been asked for, but the server's error about a statement proves that it never
   came to it. */
Test(db, is_certain_when_the_backend_dies_in_a_statement_ahead_of_the_commit)
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

Test(db, is_uncertain_when_the_backend_dies_during_the_commit)
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

Test(db, drops_a_silent_link_after_the_deadline_and_before_it_answers)
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

Test(db, is_uncertain_when_a_commit_is_not_answered_in_time)
{
    db_open_batch(db, clock_us() + 100000);
    add_int(INSERT_SLOW_COMMIT, 1);
    cr_assert_eq(db_commit(db), ST_UNCERTAIN);
    cr_assert_not(db_is_up(db));
}

Test(db, frees_the_locks_of_a_batch_whose_link_it_dropped)
{
    db_open_batch(db, clock_us() + 100000);
    add_int(INSERT, 1);
    add_int(SLEEP, 60);
    cr_assert_eq(db_run(db), ST_UNAVAILABLE);
    postgres_await(url, "SELECT (count(*) = 0)::int FROM pg_stat_activity"
                        " WHERE wait_event = 'PgSleep' AND datname = current_database()");
}

/* Its machine has lost power with a batch under way: no word comes, and no end of the link. */
/* One probe that is late does not make a client vanished. */
Test(db, has_the_server_drop_a_client_that_vanished_within_seconds)
{
    int64_t timeout_ms, first_probe_ms;

    open_batch();
    db_add(db, VANISHED, NULL, 0);
    cr_assert_eq(db_run(db), ST_OK);
    timeout_ms = db_value_int(db_result(db, 0), 0, 0);
    first_probe_ms = db_value_int(db_result(db, 0), 0, 1);
    cr_assert(timeout_ms > first_probe_ms && timeout_ms < 10000, "%d ms, a probe is late at %d ms",
              (int)timeout_ms, (int)first_probe_ms);
    db_abandon(db);
}

Test(db, notices_between_batches_that_the_server_has_gone)
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

Test(db, runs_nothing_while_the_link_is_down)
{
    struct db *other = db_to(url);

    db_open_batch(other, clock_us() + 30 * INT64_C(1000000));
    db_add(other, COUNT, NULL, 0);
    cr_assert_eq(db_run(other), ST_UNAVAILABLE);
    db_free(other);
}

/* -- connecting -------------------------------------------------------------------------------- */

Test(db, connects_once_the_schema_fits_its_statements)
{
    struct db *early;

    postgres_do(url, "ALTER TABLE item RENAME TO later");
    early = db_to(url);
    cr_assert_eq(db_connect(early, 300), ST_UNAVAILABLE);
    postgres_do(url, "ALTER TABLE later RENAME TO item");
    cr_assert_eq(db_connect(early, 30000), ST_OK);
    db_free(early);
}

Test(db, does_not_wait_for_a_server_that_never_answers)
{
    uint16_t port;
    int listener = port_bound(&port);
    int64_t start_us, took_us;
    struct db *deaf;
    char to[96];

    cr_assert_eq(listen(listener, 1), 0);
    snprintf(to, sizeof(to), "postgresql://u@127.0.0.1:%d/d", port);
    deaf = db_to(to);
    start_us = clock_mono_us();
    cr_assert_eq(db_connect(deaf, 50), ST_UNAVAILABLE);
    took_us = clock_mono_us() - start_us;
    /* Who has more time gets no further. */
    cr_assert_eq(db_connect(deaf, 2000), ST_UNAVAILABLE);
    cr_assert_lt(took_us, (clock_mono_us() - start_us) / 2);
    db_free(deaf);
    close(listener);
}

/* What is logged of a database whose second statement returns `a` and `b`, and names these. */
static void assert_columns_refused(const char *named, const char *expected)
{
    const struct db_statement others[] = {{"fits", "SELECT 1 AS a", "a"},
                                          {"pair", "SELECT 1 AS a, 2 AS b", named}};
    struct db *other = db_new(&(struct db_options){
        .url = url, .name = "db_test", .statements = others, .n_statements = 2});
    const int kept = dup(STDERR_FILENO), log = memfd_create("log", 0);
    char text[4096] = "";

    cr_assert_geq(dup2(log, STDERR_FILENO), 0);
    cr_expect_eq(db_connect(other, 1000), ST_UNAVAILABLE);
    cr_assert_geq(dup2(kept, STDERR_FILENO), 0);
    cr_assert_gt(pread(log, text, sizeof(text) - 1, 0), 0);
    cr_expect_not(db_is_up(other));
    cr_expect_not_null(strstr(text, "\"level\":\"error\""), "%s", text);
    cr_expect_not_null(strstr(text, "\"statement\":\"pair\""), "%s", text);
    cr_expect_not_null(strstr(text, expected), "%s, not %s", text, expected);
    close(log);
    close(kept);
    db_free(other);
}

Test(db, refuses_a_statement_that_returns_other_columns_than_it_names)
{
    assert_columns_refused("a c", "column 2 is \\\"b\\\", not \\\"c\\\"");
    assert_columns_refused("b a", "column 1 is \\\"a\\\", not \\\"b\\\"");
    assert_columns_refused("a", "column 2 is \\\"b\\\", not \\\"\\\"");
    assert_columns_refused("a b c", "column 3 is \\\"\\\", not \\\"c\\\"");
    assert_columns_refused("a bb", "column 2 is \\\"b\\\", not \\\"bb\\\"");
}

/* A caller who never waits long gets there all the same: an attempt goes on from call to call. */
Test(db, connects_in_steps)
{
    struct db *other = db_to(url);
    int64_t until_us = clock_mono_us() + TIMEOUT_US;

    while (db_connect(other, 0) != ST_OK && clock_mono_us() < until_us)
        continue;
    cr_assert(db_is_up(other));
    db_free(other);
}

Test(db, refuses_a_url_that_cannot_be_parsed)
{
    cr_assert_null(db_to("postgresql://user:secret@[::1/database"));
}

Test(db, comes_back_after_the_server_has_crashed)
{
    struct postgres_server own;
    struct db *other;

    postgres_server_prepare(&own);
    postgres_server_start(&own);
    postgres_do(own.url, schema);
    other = db_to(own.url);
    cr_assert_eq(db_connect(other, 30000), ST_OK);
    postgres_server_crash(&own);

    db_open_batch(other, clock_us() + 30 * INT64_C(1000000));
    db_add(other, COUNT, NULL, 0);
    cr_assert_eq(db_run(other), ST_UNAVAILABLE);
    cr_assert_eq(db_connect(other, 200), ST_UNAVAILABLE);
    postgres_server_start(&own);
    cr_assert_eq(db_connect(other, 30000), ST_OK);
    db_free(other);
    postgres_server_stop(&own);
}

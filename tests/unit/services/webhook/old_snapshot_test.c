/* What a turn of the sender and a create cost while a snapshot is held: what has died since is not looked at. */
#include <libpq-fe.h>
#include <stdlib.h>

#include "tests/unit/services/webhook/ended_attempts.h"

TestSuite(old_snapshot, .init = start, .fini = stop);

/* What the sender remembers: services/webhook/queue.c. */
static struct {
    char claims[24], turns[24], retries[24], seen[128], left_over[64], left_since[64];
} bounds = {"0", "0", "0", "1:1:", "{}", "{}"};

static void keep(char *to, size_t size, struct str value)
{
    cr_assert_lt(value.n, size);
    snprintf(to, size, "%.*s", STR_ARG(value));
}

#define KEEP(to, rows, column) keep((to), sizeof(to), db_value((rows), 0, (column)))

static void fan_out(void)
{
    const struct db_rows *const rows = RUN(SQL_FAN_OUT, "100", "64", "4", NOBODY, "100000",
                                           bounds.seen, bounds.left_over, bounds.left_since);

    cr_assert_eq(db_value_int(rows, 0, FAN_OUT_FANNED), 1);
    cr_assert_not(db_value_bool(rows, 0, FAN_OUT_HAS_MORE));
    KEEP(bounds.seen, rows, FAN_OUT_SEEN);
    KEEP(bounds.left_over, rows, FAN_OUT_LEFT_OVER);
    KEEP(bounds.left_since, rows, FAN_OUT_LEFT_SINCE);
}

static void find_bounds(void)
{
    const struct db_rows *const rows =
        RUN(SQL_FIND_BOUNDS, bounds.claims, bounds.turns, bounds.retries);

    KEEP(bounds.claims, rows, FIND_BOUNDS_CLAIMS);
    KEEP(bounds.turns, rows, FIND_BOUNDS_TURNS);
    KEEP(bounds.retries, rows, FIND_BOUNDS_RETRIES);
}

static void claim(void)
{
    cr_assert_eq(db_rows_count(RUN(SQL_CLAIM, "9", "9", "9", "60000", ORG, "{}", "{}",
                                   bounds.claims, bounds.turns)),
                 1);
}

/* One event on its way from the outbox to the log. */
static void deliver(const struct ended ended)
{
    char *text;

    make_events(ORG, 1, 0, false);
    fan_out();
    find_bounds();
    claim();
    find_bounds();
    text = ended_as_json(&ended, 1);
    cr_assert_eq(RUN_INT(SQL_COMPLETE, text, "100000"), 1);
    free(text);
    find_bounds();
}

enum { MEASURED = 10 };

/* The blocks that each of a turn's statements and a create's look-up read. */
static void measure(int64_t blocks[MEASURED])
{
    char arguments[1024], *text;

    make_events(ORG, 1, 0, false);
    snprintf(arguments, sizeof(arguments), "100, 64, 4, '" NOBODY "', 100000, '%s', '%s', '%s'",
             bounds.seen, bounds.left_over, bounds.left_since);
    blocks[0] = blocks_of(SQL_FAN_OUT, arguments);
    fan_out();
    snprintf(arguments, sizeof(arguments), "9, 9, 9, 60000, '" ORG "', '{}', '{}', %s, %s",
             bounds.claims, bounds.turns);
    blocks[1] = blocks_of(SQL_CLAIM, arguments);
    claim();
    snprintf(arguments, sizeof(arguments), "%s, %s, %s", bounds.claims, bounds.turns,
             bounds.retries);
    blocks[2] = blocks_of(SQL_FIND_BOUNDS, arguments);
    find_bounds();
    blocks[3] = blocks_of(SQL_RECOVER, bounds.claims);
    snprintf(arguments, sizeof(arguments), "20, 25, 1000, %s", bounds.retries);
    blocks[4] = blocks_of(SQL_QUEUE_RETRIES, arguments);
    text = ended_as_json(&(const struct ended)SUCCEEDED, 1);
    snprintf(arguments, sizeof(arguments), "'%s', 100000", text);
    blocks[5] = blocks_of(SQL_COMPLETE, arguments);
    cr_assert_eq(RUN_INT(SQL_COMPLETE, text, "100000"), 1);
    free(text);
    find_bounds();
    blocks[6] = blocks_of(SQL_RENEW, "'{1}', 5000");
    snprintf(arguments, sizeof(arguments), "'" ORG "', '{}', %s", bounds.claims);
    blocks[7] = blocks_of(SQL_RELEASE, arguments);
    blocks[8] = blocks_of(SQL_QUEUE_RESENDS, "100, 4, '" NOBODY "', 100000");
    blocks[9] = postgres_blocks_hit(
        role_url(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT FROM webhook.endpoints"
                    " WHERE organization_id = '" ORG "' AND 't' = ANY (events) LIMIT 1");
}

static void expect_nothing_dead_is_read(void)
{
    enum { DELIVERIES = 200, MORE = 8 };
    PGconn *holder = PQconnectdb(server.url);
    int64_t before[MEASURED], after[MEASURED];

    make_endpoint(ORG, ENDPOINT);
    deliver((struct ended)FAILED);
    PQclear(PQexec(holder, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM webhook.endpoints"));
    measure(before);
    for (int i = 0; i < DELIVERIES; i++)
        deliver(i % 2 == 0 ? (struct ended)SUCCEEDED : (struct ended)FAILED);
    measure(after);
    for (int i = 0; i < MEASURED; i++)
        cr_expect_leq(after[i], before[i] + MORE, "statement %d: %lld, then %lld blocks", i,
                      (long long)before[i], (long long)after[i]);
    cr_expect_gt(count("SELECT pg_relation_size('webhook.progress_pkey')"), 8192, "much is dead");
    PQfinish(holder);
}

Test(old_snapshot, costs_a_turn_and_a_create_nothing)
{
    expect_nothing_dead_is_read();
}

/* The statistics of such tables change with each second, and the plans with them. A merge join in the
   order of an index reads all of it. */
Test(old_snapshot, costs_nothing_whatever_joins_are_planned)
{
    postgres_do(server.url,
                "DO $$ DECLARE way text; BEGIN"
                " FOREACH way IN ARRAY ARRAY['nestloop', 'hashjoin', 'sort'] LOOP"
                "  EXECUTE format('ALTER ROLE conv_webhook IN DATABASE %I SET enable_%s = off',"
                "                 current_database(), way);"
                " END LOOP; END $$");
    expect_nothing_dead_is_read();
}

/* `n` retries that are due, and later so than those of the last call. */
static void make_due_retries(int n)
{
    char text[512];

    snprintf(text, sizeof(text),
             "WITH made AS (INSERT INTO webhook.retries SELECT '" ORG "', '" ENDPOINT "',"
             " gen_random_uuid(), 't', gen_random_uuid(), 1, clock_timestamp() - interval '1 s'"
             " FROM generate_series(1, %d) RETURNING due_at)"
             " UPDATE webhook.progress SET version = nextval('webhook.version'), retries_waiting ="
             " %d, (retry_at, retries_from) = (SELECT min(due_at), min(due_at) FROM made)",
             n, n);
    postgres_do(server.url, text);
}

static void queue_retries(int n)
{
    cr_assert_eq(RUN_INT(SQL_QUEUE_RETRIES, "20", "1000", "100000", bounds.retries), n);
    find_bounds();
}

/* The blocks that it takes to queue one. */
static int64_t measure_retries(void)
{
    char arguments[64];
    int64_t blocks;

    make_due_retries(1);
    snprintf(arguments, sizeof(arguments), "20, 1000, 100000, %s", bounds.retries);
    blocks = blocks_of(SQL_QUEUE_RETRIES, arguments);
    queue_retries(1);
    return blocks;
}

Test(old_snapshot, costs_retries_nothing)
{
    enum { RETRIES = 1000, TIMES = 3, MORE = 12 };
    PGconn *holder = PQconnectdb(server.url);
    int64_t before, after;

    make_endpoint(ORG, ENDPOINT);
    postgres_do(server.url, "UPDATE webhook.endpoints SET retry_schedule = 'standard'");
    PQclear(PQexec(holder, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM webhook.endpoints"));
    queue_retries(0);
    before = measure_retries();
    for (int i = 0; i < TIMES; i++) {
        make_due_retries(RETRIES);
        queue_retries(RETRIES);
    }
    after = measure_retries();
    cr_expect_leq(after, before + MORE, "%lld, then %lld blocks", (long long)before,
                  (long long)after);
    PQfinish(holder);
}

/* An event whose transaction ends after that of a later one is found as well. */
Test(old_snapshot, hides_no_event_of_a_late_transaction)
{
    PGconn *late = PQconnectdb(server.url);

    make_endpoint(ORG, ENDPOINT);
    PQclear(PQexec(late,
                   "BEGIN; INSERT INTO webhook.events (organization_id, id, type, data, created_at)"
                   " VALUES ('" ORG "', gen_random_uuid(), 't', '{}', now() - interval '1 s')"));
    make_events(ORG, 1, 0, false);
    fan_out();
    PQclear(PQexec(late, "COMMIT"));
    PQfinish(late);
    fan_out();
    cr_expect_eq(queued_of(ORG), 2);
}

/* Rows that arrive from another cell have numbers of that cell. */
Test(old_snapshot, hides_nothing_behind_rows_that_came_with_higher_numbers)
{
    make_endpoint(ORG, ENDPOINT);
    postgres_do(server.url, "UPDATE webhook.progress SET version = 1000000000, waits_from = id,"
                            " retry_at = now() + interval '1 h'");
    find_bounds();
    cr_expect_leq(atoll(bounds.turns), count("SELECT last_value FROM webhook.version"));
    cr_expect_leq(atoll(bounds.retries), count("SELECT last_value FROM webhook.version"));
}

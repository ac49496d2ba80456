/* Old rows are dropped in steps, while the sender works. Neither waits for the other while it holds
   a lock that the other needs. */
#include <libpq-fe.h>
#include <pthread.h>

#include "common/db/params.h"
#include "services/webhook/webhook.h"
#include "tests/unit/services/webhook/webhook_fixture.h"

static struct db *senders; /* the sender's; `db` is the actors' */
static struct webhook webhook;

static void open_all(void)
{
    start();
    senders = connect();
    webhook.unpartitioned = metric_gauge("stray", NULL, "");
    webhook.expired = metric_counter("expired_total", NULL, "");
    webhook_outbox_stats_open(&webhook);
}

static void close_all(void)
{
    db_free(senders);
    stop();
}

TestSuite(webhook_upkeep, .init = open_all, .fini = close_all);

Test(webhook_upkeep, drops_old_events_in_steps_and_none_that_still_counts)
{
    make_events(ORG, 25, 40, true);
    make_events(OTHER, 2, 40, true);
    make_events(OTHER, 1, 40, false);
    make_events(ORG, 3, 30, true);
    cr_assert_eq(RUN_INT(SQL_DROP_EVENTS, "20"), 20);
    cr_assert_eq(RUN_INT(SQL_DROP_EVENTS, "20"), 7);
    cr_assert_eq(RUN_INT(SQL_DROP_EVENTS, "20"), 0);
    cr_assert_eq(count("SELECT count(*) FROM webhook.events"), 4);
}

Test(webhook_upkeep, drops_statistics_of_days_long_gone_in_steps)
{
    postgres_do(server.url,
                "INSERT INTO webhook.statistics SELECT '" ORG "'::uuid, now() - interval"
                " '9 days' + n * interval '1 minute', 1, 1 FROM generate_series(1, 3) n"
                " UNION ALL SELECT '" ORG "', now() - interval '7 days', 1, 1");
    cr_expect_eq(RUN_INT(SQL_DROP_STATISTICS, "2"), 2);
    cr_expect_eq(RUN_INT(SQL_DROP_STATISTICS, "2"), 1);
    cr_expect_eq(RUN_INT(SQL_DROP_STATISTICS, "2"), 0);
    cr_expect_eq(count("SELECT count(*) FROM webhook.statistics"), 1);
}

#define DAYS_DROPPED                                                                               \
    "SELECT (count(*) = 0)::int FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"          \
    " WHERE i.inhparent = 'webhook.deliveries'::regclass AND c.relname <"                          \
    " 'deliveries_' || to_char(now() - interval '31 days', 'YYYY_MM_DD')"

static void make_old_days(int n)
{
    char text[256];

    snprintf(text, sizeof(text),
             "SELECT webhook.make_partition(date_trunc('day', now()) - i * interval '1 day')"
             " FROM generate_series(40, %d) i",
             39 + n);
    postgres_do(server.url, text);
}

static void *keep_up(void *unused)
{
    struct arena arena;

    arena_init(&arena, 16 << 20);
    webhook_upkeep(db, &arena, &webhook);
    arena_release(&arena);
    return NULL;
}

/* Takes locks in the order of a sender's transaction: first the queue, then rows of the log. */
Test(webhook_upkeep, drops_a_day_during_a_transaction_of_the_sender)
{
    pthread_t thread;

    make_old_days(1);
    postgres_do(server.url,
                "INSERT INTO webhook.endpoints (organization_id, id, url, events, signing, secret)"
                " SELECT i, i, '', ARRAY['t'], false, ''"
                " FROM (SELECT gen_random_uuid() AS i) AS made;"
                "INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type,"
                " cause, created_at) SELECT id, id, webhook.id_at(at), id, 't', 'event', at"
                " FROM webhook.endpoints, (SELECT now() - interval '31 d' AS at) a;" LET_ALL_WAIT);
    db_open_batch(senders, clock_us() + 30 * INT64_C(1000000));
    db_add(senders, SQL_LOCK_QUEUE, NULL);
    cr_assert_eq(db_run(senders), ST_OK);
    cr_assert_eq(pthread_create(&thread, NULL, keep_up, NULL), 0);
    await_waiting(1);
    db_add(senders, SQL_EXPIRE_QUEUE, PARAMS(STR("10")));
    cr_expect_eq(db_commit(senders), ST_OK);
    pthread_join(thread, NULL);
    cr_expect_eq(count(DAYS_DROPPED), 1);
    cr_expect_eq(count("SELECT count(*) FROM webhook.deliveries"), 1);
}

static void keep_up_now(void)
{
    webhook.upkeep.partitions_due_us = 0;
    keep_up(NULL);
}

Test(webhook_upkeep, leaves_an_old_day_to_the_process_that_has_begun)
{
    PGconn *other = PQconnectdb(server.url);

    make_old_days(1);
    PQclear(PQexec(other, "BEGIN; SELECT webhook.lock_partitioning()"));
    keep_up_now();
    cr_expect_eq(count(DAYS_DROPPED), 0);
    PQclear(PQexec(other, "ROLLBACK"));
    PQfinish(other);
    keep_up_now();
    cr_expect_eq(count(DAYS_DROPPED), 1);
}

Test(webhook_upkeep, drops_a_day_each_time_and_none_that_is_read)
{
    PGconn *reader = PQconnectdb(server.url);

    make_old_days(2);
    keep_up_now();
    cr_expect_eq(webhook.upkeep.partitions_due_us, 0, "there may be more");
    cr_expect_eq(count(DAYS_DROPPED), 0);

    PQclear(PQexec(reader, "BEGIN; SELECT count(*) FROM webhook.deliveries"));
    keep_up_now();
    cr_expect_eq(count(DAYS_DROPPED), 0);
    cr_expect_lt(webhook.upkeep.partitions_due_us, clock_mono_us() + 10 * INT64_C(1000000),
                 "it is tried again soon");
    cr_expect(db_is_up(db));
    PQclear(PQexec(reader, "COMMIT"));
    PQfinish(reader);

    keep_up_now();
    cr_expect_eq(count(DAYS_DROPPED), 1);
    keep_up_now();
    cr_expect_gt(webhook.upkeep.partitions_due_us, clock_mono_us() + 600 * INT64_C(1000000),
                 "there is no more");
}

/* It arrives from a cell that counts transactions from lower numbers. */
Test(webhook_upkeep, shows_the_age_of_an_event_that_has_arrived_from_another_cell)
{
    keep_up(NULL);
    cr_assert_gt(webhook.outbox_oldest, 3);
    make_events(ORG, 1, 1, false);
    postgres_do(server.url, "UPDATE webhook.events SET xid = '3'");
    webhook.outbox_stats_due_us = 0;
    keep_up(NULL);
    cr_expect_eq(metric_read(webhook.outbox_age), 0);
    webhook.outbox_stats_due_us = webhook.outbox_all_due_us = 0;
    keep_up(NULL);
    cr_expect_geq(metric_read(webhook.outbox_age), 24 * 3600);
}

/* Deliveries in the queue: claimed, released, and expired when they have waited too long. */
#include "tests/unit/services/webhook/webhook_fixture.h"

TestSuite(queue, .init = start, .fini = stop);

static void queue_one(void)
{
    make_endpoint(ORG, ENDPOINT);
    make_events(ORG, 1, 0, false);
    (void)RUN(SQL_FAN_OUT, "10", "64", "4", NOBODY, "100000", FAN_OUT_ALL);
    cr_assert_eq(queued_of(ORG), 1);
}

/* operator_reply() reads the first two columns. */
Test(queue, has_statements_whose_result_and_reply_are_the_first_columns)
{
    for (size_t i = 0; i < WEBHOOK_SQL_COUNT; i++) {
        const char *at = strstr(webhook_sql[i].columns, "result reply");

        cr_expect(at == NULL || at == webhook_sql[i].columns, "%s", webhook_sql[i].name);
    }
}

Test(queue, drops_deliveries_that_waited_for_a_day_in_steps)
{
    make_endpoint(ORG, ENDPOINT);
    postgres_do(
        server.url,
        "INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type,"
        " cause, created_at, fence)"
        " SELECT '" ORG "', '" ENDPOINT "', webhook.id_at(at), gen_random_uuid(), 't',"
        "        'event', at, CASE WHEN i = 1 THEN 1 END"
        "   FROM generate_series(1, 26) i,"
        "        LATERAL (SELECT now() - CASE WHEN i > 24 THEN interval '23 h'"
        "                                     ELSE interval '25 h' END AS at) a;" LET_ALL_WAIT);
    cr_assert_eq(RUN_INT(SQL_EXPIRE_QUEUE, "20"), 20);
    cr_assert_eq(RUN_INT(SQL_EXPIRE_QUEUE, "20"), 3);
    cr_assert_eq(RUN_INT(SQL_EXPIRE_QUEUE, "20"), 0);
    cr_assert_eq(count("SELECT count(*) FROM webhook.queue"), 3);
    cr_assert_eq(count(SKIPPED("expired")), 23);
    cr_assert_eq(count("SELECT count(*) FROM webhook.deliveries_default"), 0);
}

/* Claims at most 9 deliveries, for a minute. */
static const struct db_rows *claim(const char *worker)
{
    return RUN(SQL_CLAIM, "9", "9", "9", "60000", worker, "{}", "{}", CLAIM_ALL);
}

static int64_t release(const char *worker, const char *fences)
{
    return RUN_INT(SQL_RELEASE, worker, fences, "0");
}

Test(queue, releases_claims_that_a_worker_does_not_attempt)
{
    queue_one();
    cr_assert_eq(db_rows_count(claim(ORG)), 1);
    cr_assert_eq(db_rows_count(claim(ORG)), 0);
    cr_assert_eq(release(OTHER, "{}"), 0, "of another worker");
    cr_assert_eq(release(ORG, "{1}"), 0, "it is in progress");
    cr_assert_eq(release(ORG, "{2}"), 1);
    cr_assert_eq(db_rows_count(claim(OTHER)), 1, "it waits again");
    cr_assert_eq(count("SELECT crashes + fence FROM webhook.queue"), 2);
}

Test(queue, skips_what_it_releases_for_a_disabled_or_deleted_endpoint)
{
    queue_one();
    cr_assert_eq(db_rows_count(claim(ORG)), 1);
    postgres_do(server.url, "UPDATE webhook.endpoints SET enabled = false");
    cr_assert_eq(release(ORG, "{1}"), 0, "it is in progress");
    cr_assert_eq(release(ORG, "{}"), 1);
    cr_assert_eq(count("SELECT count(*) FROM webhook.queue"), 0);
    cr_assert_eq(count(SKIPPED("endpoint_disabled")), 1);

    postgres_do(server.url, "UPDATE webhook.endpoints SET enabled = true");
    make_events(ORG, 1, 0, false);
    (void)RUN(SQL_FAN_OUT, "10", "64", "4", NOBODY, "100000", FAN_OUT_ALL);
    cr_assert_eq(db_rows_count(claim(ORG)), 1);
    postgres_do(server.url, "DELETE FROM webhook.endpoints");
    cr_assert_eq(release(ORG, "{}"), 1);
    cr_assert_eq(count("SELECT count(*) FROM webhook.queue"), 0);
    cr_assert_eq(count(SKIPPED("endpoint_deleted")), 1);
}

/* The array of `n` times `id`. */
static const char *times(int n, const char *id)
{
    static char texts[2][2048];
    static int turn;
    char *text = texts[turn++ % 2];
    size_t used = 0;

    for (int i = 0; i < n; i++)
        used +=
            (size_t)snprintf(text + used, sizeof(texts[0]) - used, "%c%s", i == 0 ? '{' : ',', id);
    snprintf(text + used, sizeof(texts[0]) - used, n == 0 ? "{}" : "}");
    return text;
}

/* Claims with room for 99, after `n_quick` quick successes at the endpoint. */
static size_t claim_after(int n_quick, const char *worker)
{
    return db_rows_count(RUN(SQL_CLAIM, "99", "99", "99", "60000", worker, times(n_quick, ORG),
                             times(n_quick, ENDPOINT), CLAIM_ALL));
}

static void queue_many(bool is_proven)
{
    make_endpoint(ORG, ENDPOINT);
    make_events(ORG, 60, 0, false);
    (void)RUN(SQL_FAN_OUT, "1000", "64", "4", NOBODY, "100000", FAN_OUT_ALL);
    if (is_proven)
        postgres_do(server.url, "UPDATE webhook.progress SET proven = true");
}

Test(queue, claims_more_for_an_endpoint_that_was_quick)
{
    queue_many(true);
    cr_assert_eq(claim_after(0, ORG), 4);
    cr_assert_eq(claim_after(0, ORG), 0);
    cr_assert_eq(claim_after(3, ORG), 3);
    cr_assert_eq(claim_after(50, ORG), 16 - 7);
    cr_assert_eq(claim_after(50, ORG), 0);
    cr_assert_eq(claim_after(0, OTHER), 0, "all its slots are another worker's");
}

#define COMPLETE_ONE(worker)                                                                       \
    "DELETE FROM webhook.queue WHERE id = (SELECT id FROM webhook.queue WHERE worker = '" worker   \
    "' LIMIT 1)"

/* ORG and OTHER are workers, too. */
Test(queue, lets_one_of_several_workers_claim_for_an_endpoint)
{
    queue_many(true);
    postgres_do(server.url,
                "UPDATE webhook.queue SET lease_until = now() + interval '1 h', fence = 0,"
                " worker = '" OTHER "' WHERE id IN (SELECT id FROM webhook.queue"
                " ORDER BY id LIMIT 2)");
    cr_assert_eq(claim_after(12, ORG), 2, "no more than 4 in all");
    postgres_do(server.url, COMPLETE_ONE(OTHER));
    cr_assert_eq(claim_after(12, OTHER), 0);
    cr_assert_eq(claim_after(12, ORG), 1);
    postgres_do(server.url, COMPLETE_ONE(OTHER));
    cr_assert_eq(claim_after(12, OTHER), 0);
    cr_assert_eq(claim_after(12, ORG), 13);
}

Test(queue, claims_no_more_for_quick_endpoints_than_an_organization_may_have)
{
    char endpoints[2048];
    size_t n = 0;

    make_endpoint(ORG, OTHER);
    queue_many(true);
    cr_assert_eq(queued_of(ORG), 120);
    for (int i = 0; i < 12; i++)
        n += (size_t)snprintf(endpoints + n, sizeof(endpoints) - n, "%c" ENDPOINT "," OTHER,
                              i == 0 ? '{' : ',');
    snprintf(endpoints + n, sizeof(endpoints) - n, "}");
    cr_assert_eq(db_rows_count(RUN(SQL_CLAIM, "99", "99", "99", "60000", ORG, times(24, ORG),
                                   endpoints, CLAIM_ALL)),
                 28);
    cr_assert_eq(count("SELECT max(n) FROM (SELECT count(*) AS n FROM webhook.queue WHERE"
                       " lease_until IS NOT NULL GROUP BY endpoint_id) AS q"),
                 14, "in equal parts");
}

Test(queue, claims_one_for_an_endpoint_that_is_not_proven)
{
    queue_many(false);
    cr_assert_eq(claim_after(12, ORG), 1);
    cr_assert_eq(claim_after(12, ORG), 0);
}

Test(queue, hands_out_a_delivery_whose_event_is_gone)
{
    const struct db_rows *rows;

    queue_one();
    postgres_do(server.url, "DELETE FROM webhook.events");
    rows = claim(ORG);
    cr_assert_eq(db_rows_count(rows), 1);
    cr_assert_null(db_value(rows, 0, 7).p, "its data");
}

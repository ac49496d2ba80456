/* Resends of failed deliveries: which ones, and when. */
#include <stdlib.h>

#include "tests/unit/services/webhook/webhook_fixture.h"

TestSuite(resends, .init = start, .fini = stop);

/* Looks at `looked_at` deliveries of the log at most. */
static const char *resend_failed(const char *since, const char *max, const char *looked_at)
{
    const struct db_rows *const rows = RUN(SQL_RESEND_FAILED, ORG, ENDPOINT, since, max, looked_at);
    static char answer[256];

    snprintf(answer, sizeof(answer), "%.*s", STR_ARG(db_value(rows, 0, 1)));
    return answer;
}

#define RESENT(resent, left)                                                                       \
    "{\"id\" : \"" ENDPOINT "\", \"resent\" : " #resent ", \"left\" : " #left ", \"since\" : "

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Logs the first delivery of each event, an hour ago, as failed. */
static void log_failures(void)
{
    postgres_do(server.url,
                "INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id,"
                " event_id, event_type, cause, state, finished_at)"
                " SELECT organization_id, at, webhook.id_at(at), '" ENDPOINT "', id, type,"
                "        'event', 'failed', now()"
                "   FROM webhook.events, LATERAL (SELECT date_trunc('milliseconds', now()) -"
                "        interval '1 h' AS at) a");
}

Test(resends, of_failures_tell_whether_there_are_more)
{
    make_endpoint(ORG, ENDPOINT);
    make_events(ORG, 3, 1, true);
    log_failures();
    cr_expect(begins_with(resend_failed("0", "2", "100"), RESENT(2, 1)));
    cr_expect(begins_with(resend_failed("0", "2", "100"), RESENT(1, 0)));
    cr_expect(begins_with(resend_failed("0", "2", "100"), RESENT(0, 0) "0"));
    cr_expect_eq(count("SELECT count(DISTINCT event_id) FROM webhook.resends"), 3);
    cr_expect_eq(count("SELECT count(*) FROM webhook.queue"), 0);
}

Test(resends, of_failures_continue_after_the_events_already_checked)
{
    const char *answer;
    char since[24];

    make_endpoint(ORG, ENDPOINT);
    make_events(ORG, 2, 1, true);
    log_failures();
    postgres_do(server.url, "UPDATE webhook.deliveries SET created_at = created_at - interval '1 h'"
                            " WHERE id = (SELECT id FROM webhook.deliveries LIMIT 1)");
    cr_expect(begins_with(resend_failed("0", "9", "1"), RESENT(1, 1)));
    answer = resend_failed("0", "9", "1");
    cr_expect(begins_with(answer, RESENT(0, 1)), "the same one again");
    cr_assert_eq(sscanf(answer + strlen(RESENT(0, 1)), "%23[0-9]", since), 1);
    cr_expect(begins_with(resend_failed(since, "9", "2"), RESENT(1, 1)), "from there");
    cr_expect(begins_with(resend_failed(since, "9", "3"), RESENT(0, 0)));
}

/* One was resent and succeeded, one was resent and failed, one waits in the queue. */
Test(resends, of_failures_consider_later_deliveries_of_their_events)
{
    make_endpoint(ORG, ENDPOINT);
    make_events(ORG, 3, 1, true);
    log_failures();
    postgres_do(server.url,
                "INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id,"
                " event_id, event_type, cause, previous_id, state, finished_at)"
                " SELECT organization_id, at, webhook.id_at(at), endpoint_id, event_id, event_type,"
                "        'resend', id, CASE nth WHEN 1 THEN 'succeeded' ELSE 'failed' END, now()"
                "   FROM (SELECT *, row_number() OVER (ORDER BY id) AS nth"
                "           FROM webhook.deliveries) d,"
                "        LATERAL (SELECT date_trunc('milliseconds', now()) AS at) a"
                "  WHERE nth < 3;"
                "INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type,"
                " cause, previous_id, created_at)"
                " SELECT organization_id, endpoint_id, webhook.id_at(now()), event_id, event_type,"
                "        'resend', id, now()"
                "   FROM (SELECT *, row_number() OVER (ORDER BY id) AS nth"
                "           FROM webhook.deliveries WHERE previous_id IS NULL) d"
                "  WHERE nth = 3");
    cr_expect(begins_with(resend_failed("0", "9", "100"), RESENT(1, 0)));
    cr_expect_eq(count("SELECT count(*) FROM webhook.resends r JOIN webhook.deliveries d"
                       " ON d.id = r.previous_id WHERE d.cause = 'resend' AND d.state = 'failed'"),
                 1, "it names the latest one");
}

#define FAILED_OF_ENDPOINT "'" ORG "', '" ENDPOINT "', 0, 10000, 50000"

/* Counts blocks, not time: waiting deliveries must not be scanned again for each failed event. */
Test(resends, of_failures_cost_the_same_however_much_waits)
{
    int64_t before, beside;

    make_endpoint(ORG, ENDPOINT);
    make_events(ORG, 500, 1, true);
    log_failures();
    before = blocks_of(SQL_RESEND_FAILED, FAILED_OF_ENDPOINT);
    postgres_do(server.url,
                "INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type,"
                " cause, previous_id, created_at)"
                " SELECT '" ORG "', '" ENDPOINT "', webhook.id_at(now()), gen_random_uuid(), 't',"
                "        'event', CASE WHEN i % 2 = 0 THEN gen_random_uuid() END, now()"
                "   FROM generate_series(1, 20000) i");
    beside = blocks_of(SQL_RESEND_FAILED, FAILED_OF_ENDPOINT);
    cr_expect_lt(beside, 4 * before, "%lld, then %lld blocks", (long long)before,
                 (long long)beside);
}

static int64_t queue_resends(const char *max, const char *after, const char *budget,
                             char served[37])
{
    const struct db_rows *const rows = RUN(SQL_QUEUE_RESENDS, max, "4", after, budget);

    snprintf(served, 37, "%.*s", STR_ARG(db_value(rows, 0, 1)));
    return db_value_int(rows, 0, 0);
}

static void make_resends(const char *organization, int n)
{
    char text[256];

    snprintf(text, sizeof(text),
             "INSERT INTO webhook.resends SELECT '%s', '" ENDPOINT "', gen_random_uuid(), 't',"
             " gen_random_uuid() FROM generate_series(1, %d)",
             organization, n);
    postgres_do(server.url, text);
}

Test(resends, are_queued_of_organizations_in_turn_and_within_budgets)
{
    char served[37];

    make_endpoint(ORG, ENDPOINT);
    make_endpoint(OTHER, ENDPOINT);
    make_resends(ORG, 20);
    make_resends(OTHER, 2);
    await_room_in_minute();
    cr_expect_eq(queue_resends("4", NOBODY, "10", served), 4);
    cr_expect_eq(queued_of(OTHER), 2);
    cr_expect_eq(queued_of(ORG), 2);
    cr_expect_eq(queue_resends("100", served, "10", served), 8, "the rest of its budget");
    cr_expect_eq(queue_resends("100", served, "10", served), 0);
    cr_expect_eq(count("SELECT count(*) FROM webhook.progress WHERE waits_from IS NOT NULL"), 2);

    postgres_do(server.url, "UPDATE webhook.endpoints SET enabled = false");
    cr_expect_eq(queue_resends("100", NOBODY, "12", served), 2);
    cr_expect_eq(count(SKIPPED("endpoint_disabled")), 2);
    postgres_do(server.url, "DELETE FROM webhook.endpoints");
    cr_expect_eq(queue_resends("100", NOBODY, "100", served), 8);
    cr_expect_eq(count(SKIPPED("endpoint_deleted")), 8);
    cr_expect_eq(count("SELECT count(*) FROM webhook.resends"), 0);
}

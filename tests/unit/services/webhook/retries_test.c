/* Retries of failed deliveries, for endpoints with a schedule: which ones, when, and how many. */
#include "tests/unit/services/webhook/ended_attempts.h"

TestSuite(retries, .init = start, .fini = stop);

#define ANOTHER "01920000-0000-7000-8000-00000000000b"

static void choose(const char *endpoint, const char *schedule)
{
    (void)RUN(SQL_SET_ENDPOINT, ORG, endpoint, "true", schedule);
}

static void make_retried_endpoint(const char *organization, const char *endpoint)
{
    char text[160];

    make_endpoint(organization, endpoint);
    snprintf(text, sizeof(text),
             "UPDATE webhook.endpoints SET retry_schedule = 'standard' WHERE id = '%s'", endpoint);
    postgres_do(server.url, text);
}

static void fan_out(void)
{
    (void)RUN(SQL_FAN_OUT, "100", "64", "4", NOBODY, "100000", FAN_OUT_ALL);
}

#define END(...)                                                                                   \
    end_claimed((const struct ended[]){__VA_ARGS__},                                               \
                sizeof((const struct ended[]){__VA_ARGS__}) / sizeof(struct ended), "100000")

#define WAITING "SELECT count(*) FROM webhook.retries"

/* `n` retries wait, and what endpoints say about theirs agrees with the rows. */
static void expect_waiting(int n)
{
    cr_expect_eq(count(WAITING), n, "%d, not %d", (int)count(WAITING), n);
    cr_expect_eq(count("SELECT count(*) FROM webhook.progress e WHERE retries_waiting <>"
                       " (SELECT count(*) FROM webhook.retries r WHERE r.endpoint_id = e.id)"
                       " OR (retry_at IS NULL) <> (retries_waiting = 0)"
                       " OR retries_waiting > 0 AND (retries_from <= (SELECT min(due_at) FROM"
                       " webhook.retries r WHERE r.endpoint_id = e.id)) IS NOT TRUE"),
                 0);
}

/* Makes all waiting retries due `since` ago. */
static void let_be_due(const char *since)
{
    char text[256];

    snprintf(text, sizeof(text),
             "UPDATE webhook.retries SET due_at = now() - interval '%s';"
             "UPDATE webhook.progress SET retry_at = now() - interval '%s', retries_from ="
             " now() - interval '%s' WHERE retries_waiting > 0",
             since, since, since);
    postgres_do(server.url, text);
}

struct queued {
    int64_t queued, dropped;
    bool has_more;
};

static struct queued queue_retries(const char *endpoints, const char *each, const char *budget)
{
    const struct db_rows *const rows = RUN(SQL_QUEUE_RETRIES, endpoints, each, budget, "0");

    return (struct queued){db_value_int(rows, 0, 0), db_value_int(rows, 0, 1),
                           db_value_bool(rows, 0, 2)};
}

static void expect_queued(int n)
{
    cr_expect_eq(queue_retries("20", "25", "1000").queued, n);
}

/* The database's clock, in microseconds. */
static int64_t now_us(void)
{
    return count("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
}

/* The waiting retry is due `seconds` after a time since `since_us`, or up to a fifth later. */
static void expect_due(int64_t since_us, int retry, int seconds)
{
    const int64_t due_us =
        count("SELECT (extract(epoch FROM due_at) * 1000000)::bigint FROM webhook.retries");

    cr_expect_eq(count("SELECT retry FROM webhook.retries"), retry);
    cr_expect_geq(due_us, since_us + seconds * INT64_C(1000000), "retry %d", retry);
    cr_expect_leq(due_us, now_us() + seconds * INT64_C(1200000), "retry %d", retry);
}

Test(retries, wait_only_if_a_schedule_is_chosen)
{
    make_endpoint(ORG, ENDPOINT);
    make_events(ORG, 1, 0, false);
    fan_out();
    END(FAILED);
    expect_waiting(0);
    choose(ENDPOINT, "standard");
    make_events(ORG, 1, 0, false);
    fan_out();
    END(FAILED);
    expect_waiting(1);
    make_events(ORG, 1, 0, false);
    fan_out();
    END(SUCCEEDED);
    expect_waiting(1);
}

Test(retries, follow_the_schedule_and_end)
{
    static const int seconds[] = {5, 60, 300, 1800, 7200, 21600};
    int64_t since_us;

    make_retried_endpoint(ORG, ENDPOINT);
    make_events(ORG, 1, 0, false);
    fan_out();
    for (int i = 0; i < 6; i++) {
        since_us = now_us();
        END(FAILED);
        expect_waiting(1);
        expect_due(since_us, i + 1, seconds[i]);
        if (i > 0)
            expect_queued(0);
        let_be_due("1 s");
        expect_queued(1);
        expect_waiting(0);
    }
    END(FAILED);
    expect_waiting(0);
    cr_expect_eq(
        count("SELECT count(*) FROM webhook.deliveries d WHERE state = 'failed' AND cause ="
              " CASE WHEN retry = 0 THEN 'event' ELSE 'retry' END AND (retry = 0 OR EXISTS ("
              "SELECT FROM webhook.deliveries p WHERE p.id = d.previous_id AND p.event_id ="
              " d.event_id AND p.retry = d.retry - 1))"),
        7);
}

Test(retries, are_not_scheduled_for_tests_and_deleted_events)
{
    make_retried_endpoint(ORG, ENDPOINT);
    (void)RUN(SQL_SEND_TEST, ORG, ENDPOINT, ANOTHER);
    END(FAILED);
    make_events(ORG, 1, 0, false);
    fan_out();
    END(TOO_LATE);
    expect_waiting(0);
}

/* An event has at most one waiting retry: after two attempts in the same batch, and after one more
   while a retry waits. */
Test(retries, wait_once_for_an_event_and_go_when_it_succeeds)
{
    const char *again = "INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id,"
                        " event_type, cause, created_at) SELECT organization_id, '" ENDPOINT "',"
                        " webhook.id_at(clock_timestamp() + interval '1 ms'), id, type, 'resend',"
                        " now() FROM webhook.events;" LET_ALL_WAIT;

    make_retried_endpoint(ORG, ENDPOINT);
    make_events(ORG, 1, 0, false);
    fan_out();
    postgres_do(server.url, again);
    END(FAILED, FAILED);
    expect_waiting(1);
    postgres_do(server.url, again);
    END(FAILED);
    expect_waiting(1);
    postgres_do(server.url, again);
    postgres_do(server.url, again);
    END(SUCCEEDED, FAILED);
    expect_waiting(0);
}

/* The first retry of an event is due before the last one of another. */
Test(retries, are_looked_for_from_the_first_that_is_due)
{
    make_retried_endpoint(ORG, ENDPOINT);
    make_events(ORG, 1, 0, false);
    fan_out();
    END(FAILED);
    let_be_due("-6 h");
    make_events(ORG, 1, 0, false);
    fan_out();
    END(FAILED);
    expect_waiting(2);
}

Test(retries, beyond_the_limit_of_an_endpoint_are_not_scheduled)
{
    const struct ended failed[] = {FAILED, FAILED, FAILED, FAILED};
    const struct db_rows *rows;

    make_retried_endpoint(ORG, ENDPOINT);
    make_events(ORG, 8, 0, false);
    fan_out();
    rows = end_claimed(failed, 4, "6");
    cr_expect_eq(db_value_int(rows, 0, 1), 4);
    rows = end_claimed(failed, 4, "6");
    cr_expect_eq(db_value_int(rows, 0, 1), 2);
    cr_expect_eq(db_value_int(rows, 0, 2), 2);
    expect_waiting(6);
}

/* -- operators' changes while retries wait ----------------------------------------------------- */

static void let_one_wait(void)
{
    make_retried_endpoint(ORG, ENDPOINT);
    make_events(ORG, 1, 0, false);
    fan_out();
    END(FAILED);
    expect_waiting(1);
}

Test(retries, are_dropped_if_the_endpoint_disables_them)
{
    let_one_wait();
    choose(ENDPOINT, "none");
    expect_waiting(0);
    cr_expect_eq(count("SELECT count(*) FROM webhook.deliveries"), 1,
                 "the failure stays on record");
}

Test(retries, go_when_the_endpoint_is_disabled)
{
    let_one_wait();
    (void)RUN(SQL_SET_ENDPOINT, ORG, ENDPOINT, "false", NULL);
    expect_waiting(0);
    cr_expect_eq(count("SELECT count(*) FROM webhook.endpoints WHERE retry_schedule = 'standard'"),
                 1);
}

Test(retries, go_with_their_endpoint)
{
    let_one_wait();
    (void)RUN(SQL_DELETE_ENDPOINT, ORG, ENDPOINT);
    expect_waiting(0);
}

/* A release without retries disables the endpoint and leaves them alone. */
Test(retries, of_an_endpoint_that_is_disabled_are_dropped_when_they_are_due)
{
    struct queued queued;

    let_one_wait();
    postgres_do(server.url, "UPDATE webhook.endpoints SET enabled = false");
    let_be_due("1 s");
    queued = queue_retries("20", "25", "1000");
    cr_expect_eq(queued.queued, 0);
    cr_expect_eq(queued.dropped, 1);
    expect_waiting(0);
}

Test(retries, give_way_to_a_resend_which_begins_the_schedule_again)
{
    char *id;

    let_one_wait();
    let_be_due("1 s");
    expect_queued(1);
    END(FAILED);
    expect_waiting(1);
    id = postgres_text(server.url, "SELECT id FROM webhook.deliveries ORDER BY retry DESC LIMIT 1");
    (void)RUN(SQL_RESEND, ORG, id);
    free(id);
    expect_waiting(0);
    END(FAILED);
    cr_expect_eq(count("SELECT retry FROM webhook.retries"), 1);
    expect_waiting(1);
}

Test(retries, give_way_to_resends_of_all_that_failed)
{
    let_one_wait();
    (void)RUN(SQL_RESEND_FAILED, ORG, ENDPOINT, "0", "100", "100");
    cr_expect_eq(count("SELECT count(*) FROM webhook.resends"), 1);
    cr_expect_eq(RUN_INT(SQL_QUEUE_RESENDS, "100", "4", NOBODY, "1000"), 1);
    expect_waiting(0);
    END(SUCCEEDED);
    expect_waiting(0);
}

Test(retries, that_are_due_while_a_resend_waits_are_dropped)
{
    let_one_wait();
    (void)RUN(SQL_RESEND_FAILED, ORG, ENDPOINT, "0", "100", "100");
    let_be_due("1 s");
    cr_expect_eq(queue_retries("20", "25", "1000").dropped, 1);
    expect_waiting(0);
    cr_expect_eq(RUN_INT(SQL_QUEUE_RESENDS, "100", "4", NOBODY, "1000"), 1);
    cr_expect_eq(queued_of(ORG), 1);
}

/* -- in turn, and within bounds ---------------------------------------------------------------- */

static void make_retries(const char *organization, const char *endpoint, int n)
{
    char text[768];

    make_retried_endpoint(organization, endpoint);
    snprintf(text, sizeof(text),
             "INSERT INTO webhook.retries SELECT '%s', '%s', gen_random_uuid(), 't',"
             " gen_random_uuid(), 1, now() - i * interval '1 s' FROM generate_series(1, %d) i;"
             "UPDATE webhook.progress SET retries_waiting = %d, (retry_at, retries_from) = (SELECT"
             " min(due_at), min(due_at) FROM webhook.retries WHERE endpoint_id = '%s')"
             " WHERE id = '%s'",
             organization, endpoint, n, n, endpoint, endpoint);
    postgres_do(server.url, text);
}

#define QUEUED_FOR(endpoint) "SELECT count(*) FROM webhook.queue WHERE endpoint_id = '" endpoint "'"

Test(retries, are_queued_of_endpoints_in_turn)
{
    struct queued queued;

    make_retries(ORG, ENDPOINT, 100);
    make_retries(ORG, ANOTHER, 2);
    queued = queue_retries("1", "10", "1000");
    cr_expect_eq(queued.queued, 10);
    cr_expect(queued.has_more);
    cr_expect_eq(count(QUEUED_FOR(ENDPOINT)), 10);
    queued = queue_retries("1", "10", "1000");
    cr_expect_eq(queued.queued, 2);
    cr_expect_eq(count(QUEUED_FOR(ANOTHER)), 2, "the other one has waited longer by now");
    expect_waiting(90);
    for (int i = 0; i < 9; i++)
        queued = queue_retries("2", "10", "1000");
    cr_expect_not(queued.has_more);
    expect_waiting(0);
    cr_expect_eq(count("SELECT count(*) FROM webhook.progress WHERE waits_from IS NOT NULL"), 2);
}

/* Two endpoints share the organization's retry budget equally. The rest waits for the next minute,
   and the budget for events is not used. */
Test(retries, beyond_the_budget_wait_for_the_next_minute)
{
    struct queued queued;

    make_retries(ORG, ENDPOINT, 30);
    make_retries(ORG, ANOTHER, 30);
    make_retries(OTHER, "01920000-0000-7000-8000-00000000000c", 5);
    await_room_in_minute();
    queued = queue_retries("20", "25", "20");
    cr_expect_eq(queued.queued, 25);
    cr_expect_not(queued.has_more, "nothing more in this minute");
    cr_expect_eq(count(QUEUED_FOR(ENDPOINT)), 10);
    cr_expect_eq(count(QUEUED_FOR(ANOTHER)), 10);
    cr_expect_eq(queue_retries("20", "25", "20").queued, 0);
    expect_waiting(40);
    cr_expect_eq(count("SELECT queued FROM webhook.statistics WHERE organization_id = '" ORG "'"),
                 0);
    postgres_do(server.url,
                "UPDATE webhook.statistics SET minute = minute - interval '1 min';"
                "UPDATE webhook.progress SET retry_at = now() WHERE retry_at IS NOT NULL");
    cr_expect_eq(queue_retries("20", "25", "20").queued, 20);
}

Test(retries, that_have_been_due_for_a_day_are_dropped)
{
    struct queued queued;

    make_retries(ORG, ENDPOINT, 3);
    postgres_do(server.url, "UPDATE webhook.retries SET due_at = now() - interval '25 h'"
                            " WHERE ctid = (SELECT min(ctid) FROM webhook.retries);"
                            "UPDATE webhook.progress SET retries_from = now() - interval '25 h'");
    queued = queue_retries("20", "25", "1000");
    cr_expect_eq(queued.queued, 2);
    cr_expect_eq(queued.dropped, 1);
    expect_waiting(0);
}

/* A retry that a crash interrupts is recovered as the same retry. */
Test(retries, keep_their_place_in_the_schedule_through_a_crash)
{
    let_one_wait();
    let_be_due("1 s");
    expect_queued(1);
    cr_assert_eq(db_rows_count(RUN(SQL_CLAIM, "9", "9", "9", "60000", ORG, "{}", "{}", CLAIM_ALL)),
                 1);
    postgres_do(server.url, "UPDATE webhook.queue SET lease_until = now() - interval '1 s'");
    cr_expect_eq(db_value_int(RUN(SQL_RECOVER, "0"), 0, 0), 1);
    END(FAILED);
    cr_expect_eq(count("SELECT retry FROM webhook.retries"), 2);
    cr_expect_eq(
        count("SELECT count(*) FROM webhook.deliveries WHERE cause = 'recovery' AND retry = 1"), 1);
}

/* -- costs ------------------------------------------------------------------------------------- */

/* Counts blocks, not time: completing must not scan all retries that wait for the endpoint. */
Test(retries, cost_the_same_however_many_wait)
{
    int64_t before, beside;
    char *text, arguments[4096];

    make_retried_endpoint(ORG, ENDPOINT);
    make_events(ORG, 4, 0, false);
    fan_out();
    postgres_do(server.url, "UPDATE webhook.progress SET proven = true");
    cr_assert_eq(db_rows_count(RUN(SQL_CLAIM, "9", "9", "9", "60000", ORG, "{}", "{}", CLAIM_ALL)),
                 4);
    text = ended_as_json((const struct ended[]){SUCCEEDED, SUCCEEDED, FAILED, FAILED}, 4);
    cr_assert_not_null(text);
    snprintf(arguments, sizeof(arguments), "'%s', 100000", text);
    free(text);
    before = blocks_of(SQL_COMPLETE, arguments);
    make_retries(OTHER, ANOTHER, 20000);
    postgres_do(server.url, "INSERT INTO webhook.retries SELECT '" ORG "', '" ENDPOINT "',"
                            " gen_random_uuid(), 't', gen_random_uuid(), 1, now() + interval '1 h'"
                            " FROM generate_series(1, 20000)");
    beside = blocks_of(SQL_COMPLETE, arguments);
    cr_expect_lt(beside, 4 * before, "%lld, then %lld blocks", (long long)before,
                 (long long)beside);
}

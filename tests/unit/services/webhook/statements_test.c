/* The service's statements on a real database, run as its own role. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/db/params.h"
#include "tests/support/postgres_server.h"
#include "webhook_sql.h"

#define ORG      "01920000-0000-7000-8000-000000000001"
#define OTHER    "01920000-0000-7000-8000-000000000002"
#define ENDPOINT "01920000-0000-7000-8000-00000000000a"

static const struct postgres_template template = {
    .name = "webhook",
    .roles = {"conv_conversation", "conv_webhook"},
    .migrations = {"services/webhook/migrations/*.sql"},
};
static struct postgres_server server;
static struct db *db;

static void start(void)
{
    static char role_url[POSTGRES_URL_MOST];

    postgres_server_share(&server, &template);
    postgres_url_as(&server, "conv_webhook", role_url);
    db = db_new(&(struct db_options){.url = role_url,
                                     .name = "test",
                                     .statements = webhook_sql,
                                     .n_statements = WEBHOOK_SQL_COUNT});
    cr_assert_eq(db_connect(db, 30000), ST_OK);
}

static void stop(void)
{
    db_free(db);
    postgres_server_stop(&server);
}

TestSuite(statements, .init = start, .fini = stop, .timeout = 120);

/* Runs and commits one statement; what it returns lives until the next one. */
static const struct db_rows *run_all(enum webhook_sql statement, const struct params *params)
{
    size_t i;

    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    i = db_add(db, (int)statement, params->at, params->n);
    cr_assert_eq(db_commit(db), ST_OK);
    return db_result(db, i);
}

/* The same with one parameter; the first column of its row. */
static int64_t run(enum webhook_sql statement, const char *param)
{
    struct params params = {0};

    params_add(&params, str_of(param));
    return db_value_int(run_all(statement, &params), 0, 0);
}

static int64_t count(const char *query)
{
    return postgres_integer(server.url, query);
}

static void make_endpoint(const char *organization, const char *endpoint)
{
    char text[512];

    snprintf(text, sizeof(text),
             "INSERT INTO webhook.endpoints (organization_id, id, url, events, signing, secret,"
             " created_at) VALUES ('%s', '%s', '', ARRAY['t'], false, '', now() - interval '90 d')",
             organization, endpoint);
    postgres_do(server.url, text);
}

/* Of an age in days; the id is of that age, too. */
static void make_events(const char *organization, int n, int days, bool dispatched)
{
    char text[512];

    snprintf(text, sizeof(text),
             "INSERT INTO webhook.events (organization_id, id, type, data, created_at, dispatched)"
             " SELECT '%s', webhook.id_at(at), 't', '{}', at, %s"
             " FROM generate_series(1, %d) i, (SELECT now() - interval '%d d' AS at) a",
             organization, dispatched ? "true" : "false", n, days);
    postgres_do(server.url, text);
}

Test(statements, drop_old_events_in_steps_and_none_that_still_counts)
{
    make_events(ORG, 25, 40, true);
    make_events(OTHER, 2, 40, true);
    make_events(OTHER, 1, 40, false);
    make_events(ORG, 3, 30, true);
    cr_assert_eq(run(SQL_DROP_EVENTS, "20"), 20);
    cr_assert_eq(run(SQL_DROP_EVENTS, "20"), 7);
    cr_assert_eq(run(SQL_DROP_EVENTS, "20"), 0);
    cr_assert_eq(count("SELECT count(*) FROM webhook.events"), 4);
}

Test(statements, expire_in_steps_what_has_waited_for_30_days)
{
    make_endpoint(ORG, ENDPOINT);
    postgres_do(server.url,
                "INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type,"
                " cause, created_at, lease_until)"
                " SELECT '" ORG "', '" ENDPOINT "', webhook.id_at(at), gen_random_uuid(), 't',"
                "        'event', at, CASE WHEN i = 1 THEN now() END"
                "   FROM generate_series(1, 26) i,"
                "        LATERAL (SELECT now() - CASE WHEN i > 24 THEN interval '29 d'"
                "                                     ELSE interval '31 d' END AS at) a;"
                "UPDATE webhook.endpoints SET has_work = true");
    cr_assert_eq(run(SQL_EXPIRE_QUEUE, "20"), 20);
    cr_assert_eq(run(SQL_EXPIRE_QUEUE, "20"), 3);
    cr_assert_eq(run(SQL_EXPIRE_QUEUE, "20"), 0);
    cr_assert_eq(count("SELECT count(*) FROM webhook.queue"), 3);
    cr_assert_eq(count("SELECT count(*) FROM webhook.deliveries"
                       " WHERE state = 'skipped' AND error = 'expired'"),
                 23);
    cr_assert_eq(count("SELECT count(*) FROM webhook.deliveries_default"), 0);
}

/* Its events and deliveries, and whether there is more. */
static void expect_fan_out(const char *work, int events, int deliveries, bool more)
{
    const struct db_rows *rows;
    struct params params = {0};

    params_add(&params, str_of(work));
    params_add(&params, STR("64"));
    rows = run_all(SQL_FAN_OUT, &params);
    cr_assert_eq(db_value_int(rows, 0, 0), events, "%s: %d", work, (int)db_value_int(rows, 0, 0));
    cr_assert_eq(db_value_int(rows, 0, 1), deliveries);
    cr_assert_eq(db_value_bool(rows, 0, 2), more);
}

static void make_endpoints(const char *organization, int n)
{
    char endpoint[37];

    for (int i = 0; i < n; i++) {
        snprintf(endpoint, sizeof(endpoint), "01920000-0000-7000-8000-%012x", 16 + i);
        make_endpoint(organization, endpoint);
    }
}

Test(statements, fan_out_no_organizations_backlog_before_what_others_wait_for)
{
    make_endpoints(ORG, 30);
    make_endpoints(OTHER, 1);
    make_events(ORG, 50, 2, false);
    make_events(OTHER, 2, 1, false);
    /* The oldest of all, though it is too much work, and the other organization's first. */
    expect_fan_out("10", 2, 31, true);
    cr_assert_eq(count("SELECT count(*) FROM webhook.queue WHERE organization_id = '" OTHER "'"),
                 1);
    expect_fan_out("100", 4, 91, true);
    cr_assert_eq(count("SELECT count(*) FROM webhook.queue WHERE organization_id = '" OTHER "'"),
                 2);
    expect_fan_out("100000", 46, 46 * 30, false);
    expect_fan_out("100000", 0, 0, false);
}

Test(statements, fan_out_tells_that_an_organization_may_have_more_than_was_looked_at)
{
    make_events(ORG, 65, 1, false);
    expect_fan_out("100000", 64, 0, true);
    expect_fan_out("100000", 1, 0, false);
}

/* With room for 9 deliveries and leases of a minute. */
static const struct db_rows *claim(const char *worker)
{
    static const char *const texts[] = {"9", "9", "9", "60000"};
    struct params params = {0};

    for (size_t i = 0; i < 4; i++)
        params_add(&params, str_of(texts[i]));
    params_add(&params, str_of(worker));
    return run_all(SQL_CLAIM, &params);
}

static int64_t hand_back(const char *worker, const char *fences)
{
    struct params params = {0};

    params_add(&params, str_of(worker));
    params_add(&params, str_of(fences));
    return db_value_int(run_all(SQL_HAND_BACK, &params), 0, 0);
}

static struct str resend_failed(const char *most)
{
    static const char *const texts[] = {ORG, ENDPOINT, "0"};
    struct params params = {0};

    for (size_t i = 0; i < 3; i++)
        params_add(&params, str_of(texts[i]));
    params_add(&params, str_of(most));
    return db_value(run_all(SQL_RESEND_FAILED, &params), 0, 1);
}

Test(statements, resend_failed_tells_how_many_are_left)
{
    make_endpoint(ORG, ENDPOINT);
    make_events(ORG, 3, 1, true);
    postgres_do(server.url,
                "INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id,"
                " event_id, event_type, cause, state, finished_at)"
                " SELECT organization_id, now(), webhook.id_at(now()), '" ENDPOINT "', id, type,"
                "        'event', 'failed', now() FROM webhook.events");
    cr_assert(str_equal(resend_failed("2"),
                        STR("{\"id\" : \"" ENDPOINT "\", \"resent\" : 2, \"left\" : 1}")));
    cr_assert(str_equal(resend_failed("2"),
                        STR("{\"id\" : \"" ENDPOINT "\", \"resent\" : 1, \"left\" : 0}")));
    cr_assert_eq(count("SELECT count(DISTINCT event_id) FROM webhook.queue"), 3);
}

#define CLAIMED "SELECT count(*) FROM webhook.queue WHERE lease_until IS NOT NULL"

Test(statements, hand_back_what_a_worker_claimed_and_does_not_attempt)
{
    make_endpoint(ORG, ENDPOINT);
    make_events(ORG, 1, 1, false);
    expect_fan_out("10", 1, 1, false);
    cr_assert_eq(db_rows_count(claim(ORG)), 1);
    cr_assert_eq(db_rows_count(claim(ORG)), 0);
    cr_assert_eq(hand_back(OTHER, "{}"), 0, "of another worker");
    cr_assert_eq(hand_back(ORG, "{1}"), 0, "it is under way");
    cr_assert_eq(hand_back(ORG, "{2}"), 1);
    cr_assert_eq(db_rows_count(claim(OTHER)), 1, "it waits again");
    cr_assert_eq(count("SELECT crashes + fence FROM webhook.queue"), 2);

    postgres_do(server.url, "UPDATE webhook.endpoints SET enabled = false");
    cr_assert_eq(hand_back(OTHER, "{}"), 0, "nobody would ever claim it");
    cr_assert_eq(count(CLAIMED), 1);
}

Test(statements, claim_a_delivery_whose_event_is_gone)
{
    const struct db_rows *rows;

    make_endpoint(ORG, ENDPOINT);
    make_events(ORG, 1, 1, false);
    expect_fan_out("10", 1, 1, false);
    postgres_do(server.url, "DELETE FROM webhook.events");
    rows = claim(ORG);
    cr_assert_eq(db_rows_count(rows), 1);
    cr_assert_null(db_value(rows, 0, 7).p, "its data");
}

Test(statements, drop_statistics_of_days_long_gone_in_steps)
{
    static const struct params two = {.at = {{"2", 1}}, .n = 1};

    postgres_do(server.url,
                "INSERT INTO webhook.statistics SELECT '" ORG "'::uuid, now() - interval"
                " '9 days' + n * interval '1 minute', 1, 1 FROM generate_series(1, 3) n"
                " UNION ALL SELECT '" ORG "', now() - interval '7 days', 1, 1");
    cr_expect_eq(db_value_int(run_all(SQL_DROP_STATISTICS, &two), 0, 0), 2);
    cr_expect_eq(db_value_int(run_all(SQL_DROP_STATISTICS, &two), 0, 0), 1);
    cr_expect_eq(db_value_int(run_all(SQL_DROP_STATISTICS, &two), 0, 0), 0);
    cr_expect_eq(postgres_integer(server.url, "SELECT count(*) FROM webhook.statistics"), 1);
}

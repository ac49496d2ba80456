/*
 * webhook_fixture - a real database with the schema, and its statements run as the service's own
 * role. Header-only; every test has a separate database.
 */
#ifndef TESTS_UNIT_SERVICES_WEBHOOK_WEBHOOK_FIXTURE_H
#define TESTS_UNIT_SERVICES_WEBHOOK_WEBHOOK_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/db/params.h"
#include "tests/support/postgres_server.h"
#include "webhook_sql.h"

#define ORG      "01920000-0000-7000-8000-000000000001"
#define OTHER    "01920000-0000-7000-8000-000000000002"
#define ENDPOINT "01920000-0000-7000-8000-00000000000a"
#define NOBODY   "00000000-0000-0000-0000-000000000000"

static const struct postgres_template template = {
    .name = "webhook",
    .roles = {"conv_audit", "conv_conversation", "conv_search", "conv_webhook"},
    .migrations = {"common/cell/migrations/*.sql", "services/audit/migrations/*.sql",
                   "services/webhook/migrations/*.sql"},
};
static struct postgres_server server;
static struct db *db;

static inline struct db *connect(void)
{
    return postgres_connect_as(&server, "conv_webhook", webhook_sql, WEBHOOK_SQL_COUNT);
}

static inline void start(void)
{
    postgres_server_share(&server, &template);
    db = connect();
}

static inline void stop(void)
{
    db_free(db);
    postgres_server_stop(&server);
}

/* -- statements ------------------------------------------------------------------------------ */

/* Runs and commits one statement. The result lives until the next one. */
static inline const struct db_rows *run_with(enum webhook_sql statement, const char *const *texts,
                                             size_t n)
{
    struct params params = {0};
    size_t i;

    for (i = 0; i < n; i++)
        params_add(&params, str_of(texts[i]));
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    i = db_add(db, (int)statement, &params);
    cr_assert_eq(db_commit(db), ST_OK);
    return db_result(db, i);
}

#define RUN(statement, ...)                                                                        \
    run_with((statement), (const char *const[]){__VA_ARGS__},                                      \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* The first column of the statement's row. */
#define RUN_INT(statement, ...) db_value_int(RUN((statement), __VA_ARGS__), 0, 0)

static inline int64_t count(const char *query)
{
    return postgres_integer(server.url, query);
}

/* Waits until `n` of the test's own connections wait for a lock. */
static inline void await_waiting(int n)
{
    char query[256];

    snprintf(query, sizeof(query),
             "SELECT (count(*) = %d)::int FROM pg_stat_activity WHERE application_name = 'test'"
             " AND wait_event_type = 'Lock' AND datname = current_database()",
             n);
    postgres_await(server.url, query);
}

/* Parameters of a sender that has just started: it looks at all rows. */
#define CLAIM_ALL   "0", "0"
#define FAN_OUT_ALL "1:1:", "{}", "{}"

/* What tests put into the queue themselves can be claimed. */
#define LET_ALL_WAIT                                                                               \
    "UPDATE webhook.progress SET waits_from = '00000000-0000-0000-0000-000000000000'"

/* -- rows ------------------------------------------------------------------------------------ */

static inline void make_endpoint(const char *organization, const char *endpoint)
{
    char text[512];

    snprintf(text, sizeof(text),
             "INSERT INTO webhook.endpoints (organization_id, id, url, events, signing, secret,"
             " created_at) VALUES ('%s', '%s', '', ARRAY['t'], false, '', now() - interval '90 d')",
             organization, endpoint);
    postgres_do(server.url, text);
}

/* The events, and the times in their ids, are `days` old. */
static inline void make_events(const char *organization, int n, int days, bool dispatched)
{
    char text[512];

    snprintf(text, sizeof(text),
             "INSERT INTO webhook.events (organization_id, id, type, data, created_at, dispatched)"
             " SELECT '%s', webhook.id_at(at), 't', '{}', at, %s"
             " FROM generate_series(1, %d) i, (SELECT now() - interval '%d d' AS at) a",
             organization, dispatched ? "true" : "false", n, days);
    postgres_do(server.url, text);
}

static inline int64_t queued_of(const char *organization)
{
    char text[128];

    snprintf(text, sizeof(text), "SELECT count(*) FROM webhook.queue WHERE organization_id = '%s'",
             organization);
    return count(text);
}

#define SKIPPED(reason)                                                                            \
    "SELECT count(*) FROM webhook.deliveries WHERE state = 'skipped' AND error = '" reason "'"

/* Waits until the current minute has at least 10 seconds left: a budget is for one minute. */
static inline void await_room_in_minute(void)
{
    postgres_await(server.url, "SELECT (extract(second FROM clock_timestamp()) < 50)::int");
}

/* The URL of the service's role. */
static inline const char *role_url(void)
{
    static char url[POSTGRES_URL_MAX];

    postgres_url_as(&server, "conv_webhook", url);
    return url;
}

/* The blocks that one of the service's statements reads with these arguments, as SQL; changes nothing. */
static inline int64_t blocks_of(enum webhook_sql statement, const char *arguments)
{
    return postgres_blocks_of(role_url(), webhook_sql[statement].text, arguments);
}

#endif

/* The service's statements on a real database, run as its own role. */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/watchdog.h"
#include "common/crypto/crypto.h"
#include "common/db/db_admin.h"
#include "common/db/params.h"
#include "services/access/access.h"
#include "services/access/session.h"
#include "tests/support/postgres_server.h"
#include "tests/unit/services/access/parse_fixture.h"

#define ORG   "01920000-0000-7000-8000-000000000001"
#define OTHER "01920000-0000-7000-8000-000000000002"
#define KEY   "01920000-0000-7000-8000-00000000000a"
#define HASH  "abababababababababababababababababababababababababababababababab"

static const struct postgres_template template = {
    .name = "access",
    .roles = {"conv_access"},
    .migrations = {"services/access/migrations/*.sql"},
};
static struct postgres_server server;
static char role_url[128];
static struct db *db;

static struct db *connect_as_service(void)
{
    return postgres_connect_as(&server, "conv_access", access_sql, ACCESS_SQL_COUNT);
}

static void start(void)
{
    postgres_server_share(&server, &template);
    postgres_url_as(&server, "conv_access", role_url);
    db = connect_as_service();
}

static void stop(void)
{
    db_free(db);
    postgres_server_stop(&server);
}

/* Runs and commits one statement. Returns its reply, "" when there is no row, or its result when
   that is not ok. The text lives until the next call. */
static const char *ask_on(struct db *on, enum access_sql statement, const char *const *texts,
                          size_t n)
{
    static _Thread_local char answer[4096];
    struct params params = {0};
    const struct db_rows *rows;
    size_t i;

    for (size_t p = 0; p < n; p++)
        params_add(&params, str_of(texts[p]));
    db_open_batch(on, clock_us() + 30 * INT64_C(1000000));
    i = db_add(on, (int)statement, &params);
    cr_assert_eq(db_run(on), ST_OK, "%s: %s", access_sql[statement].name, db_last_sqlstate(on));
    rows = db_result(on, i);
    answer[0] = '\0';
    if (db_rows_count(rows) > 0) {
        bool is_ok = str_equal(db_value(rows, 0, 0), STR("ok"));

        snprintf(answer, sizeof(answer), "%.*s", STR_ARG(db_value(rows, 0, is_ok ? 1 : 0)));
    }
    cr_assert_eq(db_commit(on), ST_OK);
    return answer;
}

#define ASK(statement, ...)                                                                        \
    ask_on(db, (statement), (const char *const[]){__VA_ARGS__},                                    \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static bool says(const char *answer, const char *member)
{
    return strstr(answer, member) != NULL;
}

static void make_key(const char *expires_in)
{
    ASK(SQL_CREATE_ORGANIZATION, ORG, "Acme", "starter", "main");
    cr_assert(
        says(ASK(SQL_CREATE_KEY, ORG, KEY, HASH, "k", "full", "svc_live_", "abcd", expires_in),
             "\"id\":\"" KEY "\""));
}

/* operator_reply() reads the first two columns. */
Test(statements, have_the_result_and_the_reply_first)
{
    for (size_t i = 0; i < ACCESS_SQL_COUNT; i++) {
        const char *at = strstr(access_sql[i].columns, "result reply");

        cr_expect(at == NULL || at == access_sql[i].columns, "%s", access_sql[i].name);
    }
}

Test(statements, know_a_key_until_it_is_revoked, .init = start, .fini = stop)
{
    make_key(NULL);
    cr_assert(says(ASK(SQL_AUTHENTICATE, HASH, "1667"), "\"api_key_id\":\"" KEY "\""));
    cr_assert(says(ASK(SQL_AUTHENTICATE, HASH, "1667"),
                   "\"key_limit\":1667,\"organization_limit\":4167"));
    cr_assert_str_eq(ASK(SQL_REVOKE_KEY, OTHER, KEY), "", "another organization's");
    cr_assert(says(ASK(SQL_REVOKE_KEY, ORG, KEY), "\"revoked_at\":"));
    cr_assert_str_eq(ASK(SQL_AUTHENTICATE, HASH, "1667"), "");
}

Test(statements, rotate_a_key_into_a_successor_of_its_kind, .init = start, .fini = stop)
{
    static const char successor[] = "01920000-0000-7000-8000-00000000000b";
    static const char full[] = "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";
    static const char read[] = "efefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefef";
    const char *answer;

    make_key(NULL);
    cr_assert_str_eq(ASK(SQL_ROTATE_KEY, OTHER, KEY, successor, "0", full, "ffff", read, "rrrr"),
                     "", "another organization's");
    answer = ASK(SQL_ROTATE_KEY, ORG, KEY, successor, "3600", full, "ffff", read, "rrrr");
    cr_assert(says(answer, "\"name\":\"k\",\"scope\":\"full\",\"prefix\":\"svc_live_\","
                           "\"last_four\":\"ffff\""),
              "%s", answer);
    cr_assert(says(answer, "\"expires_at\":null,\"replaces\":{\"id\":\"" KEY "\""), "%s", answer);
    cr_assert(says(ASK(SQL_AUTHENTICATE, HASH, "1667"), "\"api_key_id\":\"" KEY "\""));
    cr_assert(says(ASK(SQL_AUTHENTICATE, full, "1667"), successor));
    cr_assert_str_eq(ASK(SQL_AUTHENTICATE, read, "1667"), "");
    answer = ASK(SQL_ROTATE_KEY, ORG, KEY, ORG, "604800", HASH, "ffff", read, "rrrr");
    cr_assert(says(answer, "\"expires_at\":null,\"replaces\":"), "made without an end: %s", answer);
    cr_assert_eq(postgres_integer(server.url,
                                  "SELECT count(*) FROM access.api_keys WHERE api_key_id = '" KEY
                                  "' AND expires_at <= now() + interval '1 hour'"),
                 1, "a second rotation extended its life");
    ASK(SQL_ROTATE_KEY, ORG, successor, OTHER, "0", full, "ffff", read, "rrrr");
    answer = ASK(SQL_ROTATE_KEY, ORG, successor, ORG, "0", full, "ffff", read, "rrrr");
    cr_assert(says(answer, "key_ended"), "%s", answer);
}

Test(statements, give_a_successor_as_long_a_life, .init = start, .fini = stop)
{
    make_key("1000");
    cr_assert(says(ASK(SQL_ROTATE_KEY, ORG, KEY, ORG, "86400", HASH, "ffff", HASH, "rrrr"), ORG));
    cr_assert_eq(postgres_integer(server.url,
                                  "SELECT count(*) FROM access.api_keys WHERE expires_at -"
                                  " date_trunc('second', created_at) = interval '1000 seconds'"),
                 2);
}

Test(statements, do_not_know_a_key_that_has_expired, .init = start, .fini = stop)
{
    make_key("60");
    cr_assert(says(ASK(SQL_AUTHENTICATE, HASH, "1667"), "\"expires_at\":1"));
    postgres_do(server.url, "UPDATE access.api_keys SET expires_at = now()");
    cr_assert_str_eq(ASK(SQL_AUTHENTICATE, HASH, "1667"), "");
}

Test(statements, show_plan_and_limits_of_the_organization, .init = start, .fini = stop)
{
    make_key(NULL);
    cr_assert(says(ASK(SQL_AUTHENTICATE, HASH, "1667"), "\"plan_has_api\":true"));
    ASK(SQL_CHANGE_ORGANIZATION, ORG, "free", "11", "false");
    cr_assert(says(ASK(SQL_AUTHENTICATE, HASH, "1667"), "\"plan_has_api\":false"));
    cr_assert(
        says(ASK(SQL_AUTHENTICATE, HASH, "1667"), "\"key_limit\":11,\"organization_limit\":27"));
    cr_assert_str_eq(ASK(SQL_CHANGE_ORGANIZATION, OTHER, "free", NULL, "false"), "");
}

#define NO_COUNTS "28333334", "{0,0,0,0,0}", "{0,0,0,0,0,0,0,0,0,0,0,0,0}"

static void report_usage(const char *org, const char *at, const char *minute, const char *outcomes,
                         const char *latency)
{
    char time[24], minutes[24], orgs[40];

    snprintf(orgs, sizeof(orgs), "{%s}", org);
    snprintf(time, sizeof(time), "{%s}", at);
    snprintf(minutes, sizeof(minutes), "{%s}", minute);
    ASK(SQL_REPORT_USAGE, orgs, "{" KEY "}", time, minutes, outcomes, latency);
}

Test(statements, add_up_what_gateways_count_of_a_minute, .init = start, .fini = stop)
{
    make_key(NULL);
    for (int i = 0; i < 3; i++)
        report_usage(ORG, "1700000060", "28333334", "{1,2,3,4,5}", "{1,0,0,2,0,0,0,0,0,0,0,0,3}");
    report_usage(ORG, "1700000120", "28333335", "{1,0,0,0,0}", "{1,0,0,0,0,0,0,0,0,0,0,0,0}");
    report_usage(OTHER, "1700000060", "28333334", "{9,9,9,9,9}", "{9,0,0,0,0,0,0,0,0,0,0,0,0}");
    cr_assert_eq(postgres_integer(server.url, "SELECT count(*) FROM access.usage"), 2,
                 "another organization's report is ignored");
    cr_assert_eq(
        postgres_integer(server.url,
                         "SELECT count(*) FROM access.usage WHERE allowed = 3 AND denied = 6 AND"
                         " rejected = 9 AND error = 12 AND limited = 15 AND"
                         " latency = '{3,0,0,6,0,0,0,0,0,0,0,0,9}'"),
        1);
    cr_assert(says(ASK(SQL_READ_USAGE_OF_KEYS, ORG, "28333332", "28333337", "1", "1", "1667"),
                   "\"limit_per_minute\" : 10002, \"points\" : [0, 0, 45, 1, 0]"));
    cr_assert(says(ASK(SQL_READ_USAGE_OF_KEYS, ORG, "28333320", "28333365", "15", "15", "1667"),
                   "\"points\" : [45, 1, 0]"),
              "a quarter ends between the two minutes");
    ASK(SQL_CLEAN_USAGE, "28333335", "0", "100");
    cr_assert_eq(postgres_integer(server.url, "SELECT min(minute) FROM access.usage"), 28333335);
}

Test(statements, list_the_organizations_with_the_most_answers, .init = start, .fini = stop)
{
    const struct db_rows *rows;

    postgres_do(server.url,
                "INSERT INTO access.usage SELECT o, gen_random_uuid(), minute, n, n, n, n, n,"
                " array_fill(0, ARRAY[13]) FROM (VALUES"
                " ('" ORG "'::uuid, 28333330, 1), ('" ORG "', 28333339, 2), ('" OTHER
                "', 28333335, 2), ('" ORG "', 28333340, 100), ('" ORG "', 28333329, 100))"
                " AS made (o, minute, n)");
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    db_add(db, SQL_LIST_BUSIEST, PARAMS(STR("28333330"), STR("28333340"), STR("1")));
    cr_assert_eq(db_run(db), ST_OK);
    rows = db_result(db, 0);
    cr_assert_eq(db_rows_count(rows), 1);
    cr_assert(str_equal(db_value(rows, 0, LIST_BUSIEST_ORGANIZATION_ID), STR(ORG)));
    cr_assert_eq(db_value_int(rows, 0, LIST_BUSIEST_ANSWERS), 15);
    cr_assert_eq(db_value_int(rows, 0, LIST_BUSIEST_ANSWERS_TO_ALL), 25);
    db_abandon(db);
}

Test(statements, keep_the_latest_use_of_a_key, .init = start, .fini = stop)
{
    make_key(NULL);
    report_usage(ORG, "1700000060", NO_COUNTS);
    report_usage(ORG, "1700000000", NO_COUNTS);
    report_usage(OTHER, "1800000000", NO_COUNTS);
    cr_assert(says(ASK(SQL_LIST_KEYS, ORG, NULL), "\"last_used_at\":1700000060"));
}

Test(statements, never_leave_an_allowlist_empty_while_it_is_on, .init = start, .fini = stop)
{
    ASK(SQL_CREATE_ORGANIZATION, ORG, "Acme", "starter", "main");
    cr_assert_str_eq(ASK(SQL_CHANGE_POLICY, ORG, NULL, "true", NULL, NULL), "empty_allowlist");
    cr_assert_str_eq(ASK(SQL_CHANGE_POLICY, ORG, NULL, "true", "{10.0.0.1}", NULL),
                     "{\"require_https\":false,\"ip_allowlist_enabled\":true,"
                     "\"ip_allowlist\":[\"10.0.0.1\"]}");
    cr_assert_str_eq(ASK(SQL_CHANGE_POLICY, ORG, "true", NULL, "{}", NULL), "empty_allowlist");
    cr_assert(says(ASK(SQL_READ_POLICY, ORG), "\"require_https\":false"), "no part of it was done");
    cr_assert_str_eq(ASK(SQL_CHANGE_POLICY, OTHER, NULL, NULL, NULL, NULL), "");
}

Test(statements, find_an_email_taken_within_its_organization_only, .init = start, .fini = stop)
{
    ASK(SQL_CREATE_ORGANIZATION, ORG, "Acme", "starter", "main");
    ASK(SQL_CREATE_ORGANIZATION, OTHER, "Other", "starter", "main");
    cr_assert(says(ASK(SQL_CREATE_USER, ORG, KEY, "a@b", "owner", "h"), "\"email\":\"a@b\""));
    cr_assert_str_eq(ASK(SQL_CREATE_USER, ORG, ORG, "a@b", "owner", "h"), "email_taken");
    cr_assert(says(ASK(SQL_CREATE_USER, OTHER, KEY, "a@b", "owner", "h"), "\"email\":\"a@b\""));
}

/* Expects `step` from the move's current state to give ok or conflict. */
static void expect_step(const char *step, const char *to, const char *expected)
{
    const char *const answer = ASK(SQL_SET_MOVE, ORG, step, to);

    cr_expect_str_eq(strcmp(answer, "conflict") == 0 ? answer : "ok", expected, "%s %s: %s", step,
                     to, answer);
}

Test(statements, take_a_move_step_by_step, .init = start, .fini = stop)
{
    ASK(SQL_CREATE_ORGANIZATION, ORG, "Acme", "starter", "main");
    expect_step("switching", "", "conflict");
    expect_step("copying", "main", "conflict");
    expect_step("copying", "second", "ok");
    expect_step("copying", "second", "ok");
    expect_step("copying", "third", "conflict");
    expect_step("switched", "", "conflict");
    expect_step("done", "", "conflict");
    cr_expect(says(ASK(SQL_READ_MOVE, ORG), "\"step\" : \"copying\""));
    expect_step("switching", "", "ok");
    expect_step("aborted", "", "ok");
    cr_expect(says(ASK(SQL_READ_MOVE, ORG), "\"cell\":\"main\""));
    expect_step("switched", "", "conflict");
    expect_step("copying", "second", "ok");
    expect_step("switching", "", "ok");
    expect_step("switched", "", "ok");
    expect_step("aborted", "", "conflict");
    expect_step("switched", "", "ok");
    cr_expect(says(ASK(SQL_READ_MOVE, ORG), "\"cell\":\"second\""));
    expect_step("done", "", "ok");
    cr_expect(says(ASK(SQL_READ_MOVE, ORG), "\"move\":null"));
    expect_step("done", "", "conflict");
    expect_step("copying", "main", "ok");
    expect_step("aborted", "", "ok");
    cr_expect(says(ASK(SQL_READ_MOVE, ORG), "\"cell\":\"second\""));
    cr_expect_str_eq(ASK(SQL_SET_MOVE, OTHER, "copying", "second"), "");
}

Test(statements, count_organizations_of_a_plan_or_all, .init = start, .fini = stop)
{
    ASK(SQL_CREATE_ORGANIZATION, ORG, "Acme", "starter", "main");
    ASK(SQL_CREATE_ORGANIZATION, OTHER, "Other", "growth", "main");
    cr_assert_str_eq(ASK(SQL_COUNT_ORGANIZATIONS, NULL), "{\"count\":2}");
    cr_assert_str_eq(ASK(SQL_COUNT_ORGANIZATIONS, "growth"), "{\"count\":1}");
    cr_assert_str_eq(ASK(SQL_COUNT_ORGANIZATIONS, "free"), "{\"count\":0}");
}

Test(statements, list_a_page_that_many_can_have_at_once, .init = start, .fini = stop)
{
    const char *answer;

    postgres_do(
        server.url,
        "INSERT INTO access.organizations (organization_id, name, plan) SELECT "
        "gen_random_uuid(), repeat(U&'\\+01F600', 255), 'free' FROM generate_series(1, 1000)");
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    db_add(db, SQL_LIST_ORGANIZATIONS, PARAMS(STR_NONE));
    cr_assert_eq(db_run(db), ST_OK);
    answer = db_value(db_result(db, 0), 0, 1).p;
    cr_assert_gt(strlen(answer), 200000);
    cr_assert_lt(strlen(answer), 300000);
    db_abandon(db);
}

/* The second transaction sees what the first has committed and is refused with an error of its own.
   The constraint, which would fail the statement, is never reached. */
static void *turn_on_and_off(void *closure)
{
    struct db *mine = connect_as_service();

    for (int i = 0; i < 200; i++) {
        const char *const on[] = {ORG, NULL, i % 2 == 0 ? "true" : "false", NULL, NULL};
        const char *answer = ask_on(mine, SQL_CHANGE_POLICY, on, 5);

        cr_assert(says(answer, "ip_allowlist") || says(answer, "same") ||
                      says(answer, "empty_allowlist"),
                  "%s", answer);
    }
    db_free(mine);
    return NULL;
}

Test(statements, let_two_operators_change_a_policy_at_once, .init = start, .fini = stop)
{
    pthread_t other;
    int emptied = 0;

    ASK(SQL_CREATE_ORGANIZATION, ORG, "Acme", "starter", "main");
    cr_assert_eq(pthread_create(&other, NULL, turn_on_and_off, NULL), 0);
    for (int i = 0; i < 200; i++) {
        const char *answer =
            ASK(SQL_CHANGE_POLICY, ORG, NULL, NULL, i % 2 == 0 ? "{}" : "{192.0.2.1}", NULL);

        emptied += says(answer, "\"ip_allowlist\":[]");
        cr_assert_not(says(answer, "\"ip_allowlist_enabled\":true,\"ip_allowlist\":[]"));
    }
    pthread_join(other, NULL);
    cr_assert_gt(emptied, 0);
}

/* -- usage ----------------------------------------------------------------------------------- */

/* Two reports in one transaction, as from two gateways; true: it failed. */
static bool report_twice(struct db *on, const char *first, const char *second)
{
    const char *const minutes[] = {first, second};
    enum status st = ST_OK;

    db_open_batch(on, clock_us() + 30 * INT64_C(1000000));
    for (size_t i = 0; i < 2 && st == ST_OK; i++) {
        const struct params *const params =
            PARAMS(STR("{" ORG "}"), STR("{" KEY "}"), STR("{1}"), str_of(minutes[i]),
                   STR("{1,0,0,0,0}"), STR("{1,0,0,0,0,0,0,0,0,0,0,0,0}"));

        db_add(on, SQL_REPORT_USAGE, params);
        st = db_run(on);
    }
    if (st == ST_OK)
        st = db_commit(on);
    else
        db_abandon(on);
    return st != ST_OK;
}

static void *report_backwards(void *failed)
{
    struct db *mine = connect_as_service();

    for (int i = 0; i < 100; i++)
        *(int *)failed += report_twice(mine, "{28333335}", "{28333334}");
    db_free(mine);
    return NULL;
}

Test(statements, take_reports_in_any_order_at_once, .init = start, .fini = stop)
{
    pthread_t other;
    int failed = 0, failed_there = 0;

    make_key(NULL);
    cr_assert_eq(pthread_create(&other, NULL, report_backwards, &failed_there), 0);
    for (int i = 0; i < 100; i++)
        failed += report_twice(db, "{28333334}", "{28333335}");
    pthread_join(other, NULL);
    cr_assert_eq(failed + failed_there, 0, "%d and %d deadlocks", failed, failed_there);
    cr_assert_eq(postgres_integer(server.url, "SELECT sum(allowed) FROM access.usage"), 400);
}

/* -- quota ----------------------------------------------------------------------------------- */

enum { TAKERS = 4, TAKES = 100 };

/* Takes TAKES times; adds up what was granted. */
static void *take(void *granted)
{
    struct db *mine = connect_as_service();

    for (int i = 0; i < TAKES; i++) {
        const char *const texts[] = {"5",   ORG,    i % 2 == 0 ? KEY : OTHER, "777", "7", "500",
                                     "800", "false"};
        const char *answer = ask_on(mine, SQL_GRANT_QUOTA, texts, 8);

        cr_assert(says(answer, "{\"granted\":"));
        *(int64_t *)granted += strtoll(answer + strlen("{\"granted\":"), NULL, 10);
    }
    db_free(mine);
    return NULL;
}

Test(statements, grant_exactly_the_limit_of_a_window, .init = start, .fini = stop)
{
    pthread_t threads[TAKERS];
    int64_t granted[TAKERS] = {0}, sum = 0;

    for (int i = 0; i < TAKERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, take, &granted[i]), 0);
    for (int i = 0; i < TAKERS; i++) {
        pthread_join(threads[i], NULL);
        sum += granted[i];
    }
    cr_assert_eq(sum, 800, "of 2,800 wanted, by two keys of 500 in an organization of 800: %ld",
                 sum);
}

Test(statements, grant_no_more_than_one_keys_limit, .init = start, .fini = stop)
{
    cr_assert_str_eq(ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "777", "60", "100", "250", "false"),
                     "{\"granted\":60,\"key_left\":40,\"organization_left\":190}");
    cr_assert_str_eq(ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "777", "60", "100", "250", "false"),
                     "{\"granted\":40,\"key_left\":0,\"organization_left\":150}");
    cr_assert_str_eq(ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "777", "60", "100", "250", "false"),
                     "{\"granted\":0,\"key_left\":0,\"organization_left\":150}");
    cr_assert_str_eq(ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "778", "60", "100", "250", "false"),
                     "{\"granted\":60,\"key_left\":40,\"organization_left\":190}");
}

Test(statements, grant_refusals_beside_what_the_limit_allows, .init = start, .fini = stop)
{
    ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "777", "100", "100", "250", "false");
    cr_assert_str_eq(ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "777", "60", "100", "250", "true"),
                     "{\"granted\":60,\"key_left\":40,\"organization_left\":190}");
    cr_assert_str_eq(ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "777", "60", "100", "250", "true"),
                     "{\"granted\":40,\"key_left\":0,\"organization_left\":150}");
    cr_assert_str_eq(ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "777", "60", "100", "250", "true"),
                     "{\"granted\":0,\"key_left\":0,\"organization_left\":150}");
    cr_assert_str_eq(ASK(SQL_GRANT_QUOTA, "5", ORG, OTHER, "777", "60", "100", "250", "false"),
                     "{\"granted\":60,\"key_left\":40,\"organization_left\":90}");
}

Test(statements, grant_nothing_if_a_limit_was_lowered_below_current_usage, .init = start,
     .fini = stop)
{
    ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "777", "60", "100", "250", "false");
    cr_assert_str_eq(ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "777", "60", "10", "25", "false"),
                     "{\"granted\":0,\"key_left\":0,\"organization_left\":0}");
}

Test(statements, forget_windows_that_are_over, .init = start, .fini = stop)
{
    ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "777", "60", "100", "250", "false");
    ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "778", "60", "100", "250", "false");
    ASK(SQL_CLEAN_QUOTA, "778", "0");
    cr_assert_eq(postgres_integer(server.url, "SELECT count(*) FROM access.quota"), 2);
    cr_assert_eq(postgres_integer(server.url, "SELECT min(period) FROM access.quota"), 778);
}

/* Otherwise it looks only at what has ended since it last cleaned. */
Test(statements, forget_once_an_hour_the_windows_of_gateways_whose_clock_is_slow, .init = start,
     .fini = stop)
{
    struct access access = {.cleaned_s = clock_us() / 1000000 - 3600};
    struct arena arena;

    access_busiest_open(&access);
    ASK(SQL_GRANT_QUOTA, "5", ORG, KEY, "777", "60", "100", "250", "false");
    arena_init(&arena, 1 << 20);
    access_upkeep(db, &arena, &access);
    arena_release(&arena);
    cr_assert_eq(postgres_integer(server.url, "SELECT count(*) FROM access.quota"), 0);
}

/* -- sessions -------------------------------------------------------------------------------- */

/* The lock may belong to another replica that cleans, or to the removal of the user. */
Test(statements, clean_up_around_rows_that_are_locked, .init = start, .fini = stop)
{
    PGconn *holder;

    ASK(SQL_CREATE_ORGANIZATION, ORG, "Acme", "starter", "main");
    ASK(SQL_CREATE_USER, ORG, KEY, "a@b", "owner", "h");
    postgres_do(server.url,
                "INSERT INTO access.sessions (organization_id, session_id, user_id, token_hash,"
                " address, user_agent, last_seen_at) SELECT '" ORG "', gen_random_uuid(), '" KEY
                "', sha256(n::text::bytea), '192.0.2.1', n::text, now() - n * interval '13 hours'"
                " FROM generate_series(0, 3) AS n;"
                "INSERT INTO access.sign_in_networks SELECT '" ORG "', '" KEY
                "', n::text, now() - n * interval '181 days' FROM generate_series(0, 3) AS n");
    holder = PQconnectdb(server.url);
    PQclear(PQexec(holder, "BEGIN; DELETE FROM access.sessions WHERE user_agent = '2';"
                           "DELETE FROM access.sign_in_networks WHERE network = '2'"));
    cr_assert_eq(PQtransactionStatus(holder), PQTRANS_INTRANS, "%s", PQerrorMessage(holder));
    ASK(SQL_CLEAN_SESSIONS, "100");
    ASK(SQL_CLEAN_SIGN_IN_NETWORKS, "100");
    PQclear(PQexec(holder, "ROLLBACK"));
    PQfinish(holder);
    cr_assert_eq(postgres_integer(server.url, "SELECT count(*) FROM access.sessions"
                                              " WHERE user_agent IN ('0', '2')"),
                 2);
    cr_assert_eq(postgres_integer(server.url, "SELECT count(*) FROM access.sign_in_networks"
                                              " WHERE network IN ('0', '2')"),
                 2);
    cr_assert_eq(postgres_integer(server.url, "SELECT (SELECT count(*) FROM access.sessions) +"
                                              " (SELECT count(*) FROM access.sign_in_networks)"),
                 4);
    ASK(SQL_CLEAN_SESSIONS, "1");
    cr_assert_eq(postgres_integer(server.url, "SELECT count(*) FROM access.sessions"), 1);
}

/* -- hashing --------------------------------------------------------------------------------- */

enum { NAMESAKES = 4 };

static void make_namesakes(void)
{
    char hash[CRYPTO_PASSWORD_TEXT], organization[] = ORG;

    crypto_password_hash(STR("the password of others"), hash);
    for (int i = 0; i < NAMESAKES; i++) {
        organization[sizeof(organization) - 2] = (char)('1' + i);
        ASK(SQL_CREATE_ORGANIZATION, organization, "Acme", "starter", "main");
        ASK(SQL_CREATE_USER, organization, KEY, "a@b", "owner", hash);
    }
}

/* An email that several users have costs one password hash for each of them. */
Test(statements, of_a_sign_in_report_to_the_watchdog_for_each_hash, .init = start, .fini = stop)
{
    struct parsed parsed;
    int64_t began_us, took_us;

    make_namesakes();
    parsed_accepts(
        &parsed, &access_sign_in,
        "{\"email\":\"a@b\",\"password\":\"x\",\"address\":\"::1\",\"user_agent\":\"\"}");
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    access_sign_in.query(&parsed.command, db, &parsed.self);
    cr_assert_eq(db_run(db), ST_OK);
    watchdog_begin("hashing");
    began_us = clock_mono_us();
    cr_assert_eq(access_sign_in.reply(&parsed.command, db, &parsed.self), ST_REFUSED);
    took_us = clock_mono_us() - began_us;
    cr_assert_eq(watchdog_overdue(took_us * 3 / 4, NULL), 0, "of %d hashes", NAMESAKES);
    watchdog_end();
    db_abandon(db);
    arena_release(&parsed.arena);
}

/* -- forbidden statements -------------------------------------------------------------------- */

Test(statements, are_all_that_the_role_is_allowed, .init = start, .fini = stop)
{
    static const char *const forbidden[] = {
        "DELETE FROM access.organizations",
        "DELETE FROM access.api_keys",
        "TRUNCATE access.users CASCADE",
        "TRUNCATE access.quota",
        "UPDATE access.organizations SET name = 'x'",
        "UPDATE access.api_keys SET token_hash = token_hash",
        "UPDATE access.api_keys SET scope = 'full'",
        "UPDATE access.users SET email = ''",
        "UPDATE access.sessions SET token_hash = token_hash",
        "ALTER TABLE access.users ADD COLUMN x text",
        "CREATE TABLE access.x (a integer)",
        "CREATE ROLE x",
    };
    struct db_admin *role = NULL;
    char error[DB_ADMIN_WHY];

    cr_assert_eq(db_admin_open(role_url, "test", 10, &role, error), ST_OK, "%s", error);
    for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
        cr_expect_eq(db_admin_script(role, forbidden[i]), ST_INTERNAL, "%s", forbidden[i]);
        cr_expect_str_eq(db_admin_sqlstate(role), "42501", "%s: %s", forbidden[i],
                         db_admin_error(role));
    }
    db_admin_free(role);
}

Test(statements, are_backed_by_a_constraint_on_the_allowlist, .init = start, .fini = stop)
{
    struct db_admin *role = NULL;
    char error[DB_ADMIN_WHY];

    ASK(SQL_CREATE_ORGANIZATION, ORG, "Acme", "starter", "main");
    cr_assert_eq(db_admin_open(role_url, "test", 10, &role, error), ST_OK, "%s", error);
    cr_assert_eq(
        db_admin_script(role, "UPDATE access.organizations SET ip_allowlist_enabled = true"),
        ST_INTERNAL);
    cr_assert_str_eq(db_admin_sqlstate(role), "23514");
    db_admin_free(role);
}

/* How ended attempts change an endpoint and its log. */
#include <stdlib.h>

#include "tests/unit/services/webhook/ended_attempts.h"

TestSuite(complete, .init = start, .fini = stop);

static void end_all(const struct ended *ended, size_t n)
{
    make_events(ORG, (int)n, 0, false);
    (void)RUN(SQL_FAN_OUT, "100", "64", "4", NOBODY, "100000", FAN_OUT_ALL);
    end_claimed(ended, n, "100000");
}

#define END(...)                                                                                   \
    end_all((const struct ended[]){__VA_ARGS__},                                                   \
            sizeof((const struct ended[]){__VA_ARGS__}) / sizeof(struct ended))

/* A value of the endpoint as text; "" = NULL. */
static const char *of_endpoint(const char *expression)
{
    static char *value;
    char query[256];

    free(value);
    snprintf(query, sizeof(query), "SELECT coalesce((%s)::text, '') FROM webhook.progress",
             expression);
    value = postgres_text(server.url, query);
    cr_assert_not_null(value);
    return value;
}

#define SINCE "extract(epoch FROM failing_since)::int - 1700000000"

Test(complete, shows_the_status_of_the_latest_attempt)
{
    make_endpoint(ORG, ENDPOINT);
    END(FAILED);
    cr_expect_str_eq(of_endpoint("last_http_status"), "503");
    END(SUCCEEDED);
    cr_expect_str_eq(of_endpoint("last_http_status"), "204");
    END(SUCCEEDED, FAILED, TIMED_OUT);
    cr_expect_str_eq(of_endpoint("last_http_status"), "", "no answer came");
    END(FAILED, SUCCEEDED);
    cr_expect_str_eq(of_endpoint("last_http_status"), "204");
    cr_expect_str_eq(of_endpoint("last_error"), "http_5xx");
}

Test(complete, records_since_when_an_endpoint_has_failed)
{
    make_endpoint(ORG, ENDPOINT);
    cr_expect_str_eq(of_endpoint(SINCE), "");
    END(FAILED, SUCCEEDED, FAILED, FAILED);
    cr_expect_str_eq(of_endpoint(SINCE), "20", "the first one after the success");
    END(FAILED);
    cr_expect_str_eq(of_endpoint(SINCE), "20", "it stays");
    END(FAILED, SUCCEEDED);
    cr_expect_str_eq(of_endpoint(SINCE), "");
    cr_expect_str_eq(of_endpoint("failing_since"), "");
}

/* -- endpoints that keep failing -------------------------------------------------------------- */

static void fail_for(const char *endpoint, const char *interval, int failures)
{
    char text[256];

    make_endpoint(ORG, endpoint);
    snprintf(text, sizeof(text),
             "UPDATE webhook.progress SET failing_since = now() - interval '%s',"
             " consecutive_failures = %d WHERE id = '%s'",
             interval, failures, endpoint);
    postgres_do(server.url, text);
}

#define LONGEST "01920000-0000-7000-8000-00000000001a"
#define SHORT   "01920000-0000-7000-8000-00000000001b"
#define SELDOM  "01920000-0000-7000-8000-00000000001c"
#define OFF     "01920000-0000-7000-8000-00000000001d"

static void expect_rows(const struct db_rows *rows, const char *first, const char *second)
{
    const char *const ids[] = {first, second};

    cr_expect_eq(db_rows_count(rows), second != NULL ? 2 : first != NULL ? 1 : 0);
    for (size_t i = 0; i < db_rows_count(rows) && i < 2; i++)
        cr_expect(str_equal(db_value(rows, i, 1), str_of(ids[i])), "%s", ids[i]);
}

Test(complete, lists_failing_endpoints_and_reports_long_failures_once_a_day)
{
    fail_for(SHORT, "2 hours", 5);
    fail_for(LONGEST, "6 days", 9);
    fail_for(SELDOM, "7 days", 4);
    fail_for(OFF, "8 days", 9);
    postgres_do(server.url, "UPDATE webhook.endpoints SET enabled = false WHERE id = '" OFF "'");
    expect_rows(RUN(SQL_LIST_FAILING, "20"), LONGEST, SHORT);
    cr_expect_geq(db_value_int(RUN(SQL_LIST_FAILING, "20"), 0, 2), 6 * 86400);
    expect_rows(RUN(SQL_LIST_FAILING, "1"), LONGEST, NULL);

    expect_rows(RUN(SQL_REPORT_FAILING, "100"), LONGEST, NULL);
    expect_rows(RUN(SQL_REPORT_FAILING, "100"), NULL, NULL);
    postgres_do(server.url,
                "UPDATE webhook.endpoints SET reported_at = now() - interval '25 hours'");
    expect_rows(RUN(SQL_REPORT_FAILING, "100"), LONGEST, NULL);
}

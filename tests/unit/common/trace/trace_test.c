/* Spans on their way to a collector, a real one by HTTP. */
#include "common/trace/trace.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/metrics.h"
#include "tests/support/collector.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"

static enum status open_with(const char *endpoint, const char *headers, const char *ratio)
{
    const struct trace_settings settings = {
        .endpoint = endpoint, .headers = headers, .ca_file = "", .ratio = ratio};

    return trace_open(&settings, "sample", "sample-0");
}

static void do_something(struct span *span)
{
    span->name = "sample.do";
    span->outcome = "done";
    span->start_us = 1700000000000000;
    span->end_us = 1700000000000250;
    span_end(span);
}

static long long metric(const char *result)
{
    char series[80];
    struct arena arena;
    struct buf out;
    const char *at;
    long long value = -1;

    arena_init(&arena, 1 << 20);
    buf_init(&out, &arena, 4096);
    metrics_render(&out);
    buf_char(&out, '\0');
    snprintf(series, sizeof(series), "\nconversations_spans_total{result=\"%s\"} ", result);
    at = strstr(out.p, series);
    if (at != NULL)
        sscanf(at + strlen(series), "%lld", &value);
    arena_release(&arena);
    return value;
}

static const char *text(const json_t *span, const char *name)
{
    return json_string_value(json_object_get(span, name));
}

/* -- what is recorded ------------------------------------------------------------------------- */

Test(trace, is_nothing_without_an_endpoint)
{
    struct span span;

    cr_assert_eq(open_with("", "", "1"), ST_OK);
    cr_expect_not(trace_is_on());
    cr_expect_not(span_begin(&span, STR("00-" TRACE "-" SPAN "-01"), true));
    span_end(&span);
    cr_expect_eq(metric("sent"), -1);
    trace_close();
}

Test(trace, goes_on_as_a_child_of_who_asks)
{
    struct collector *collector = collector_start(200);
    struct span span;
    const json_t *sent;

    cr_assert_eq(open_with(collector_url(collector), "", "0"), ST_OK);
    cr_assert(span_begin(&span, STR("00-" TRACE "-" SPAN "-01"), false));
    span.http_status = 201;
    do_something(&span);
    sent = json_array_get(collector_await(collector, TRACE, 1), 0);
    cr_expect_str_eq(text(sent, "parentSpanId"), SPAN);
    cr_expect_str_neq(text(sent, "spanId"), SPAN);
    cr_expect_eq(strlen(text(sent, "spanId")), 16);
    cr_expect_str_eq(text(sent, "name"), "sample.do");
    cr_expect_str_eq(text(sent, "service"), "sample");
    cr_expect_str_eq(text(sent, "startTimeUnixNano"), "1700000000000000000");
    cr_expect_str_eq(text(sent, "endTimeUnixNano"), "1700000000000250000");
    cr_expect_str_eq(span_attribute(sent, "conversations.outcome"), "done");
    cr_expect_str_eq(span_attribute(sent, "http.response.status_code"), "201");
    cr_expect_null(span_attribute(sent, "conversations.organization_id"));
    trace_close();
    cr_expect_eq(metric("sent"), 1);
}

Test(trace, is_left_alone_where_the_caller_does_not_record_it)
{
    struct collector *collector = collector_start(200);
    struct span span;

    cr_assert_eq(open_with(collector_url(collector), "", "1"), ST_OK);
    cr_expect_not(span_begin(&span, STR("00-" TRACE "-" SPAN "-00"), true));
    do_something(&span);
    cr_expect_not(span_begin(&span, STR_NONE, false), "only the edge begins one");
    do_something(&span);
    trace_close();
    cr_expect_eq(json_array_size(collector_spans(collector, "")), 0);
}

Test(trace, begins_for_the_share_that_the_ratio_names)
{
    enum { ALL = 10000 };
    static const struct {
        const char *ratio;
        int min, max;
    } cases[] = {{"0", 0, 0}, {"0.25", ALL / 5, ALL * 3 / 10}, {"1", ALL, ALL}};
    struct collector *collector = collector_start(200);

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        int n = 0;

        cr_assert_eq(open_with(collector_url(collector), "", cases[c].ratio), ST_OK);
        for (int i = 0; i < ALL; i++) {
            struct span span;

            n += span_begin(&span, i % 2 == 0 ? STR_NONE : STR("malformed"), true);
        }
        cr_expect(n >= cases[c].min && n <= cases[c].max, "%d of %s", n, cases[c].ratio);
        trace_close();
    }
}

/* -- how it is sent --------------------------------------------------------------------------- */

Test(trace, is_sent_where_and_as_the_settings_say)
{
    struct collector *collector = collector_start(200);
    char endpoint[128];
    struct span span;
    const char *head;

    snprintf(endpoint, sizeof(endpoint), "%s/tenant/", collector_url(collector));
    cr_assert_eq(open_with(endpoint, "authorization=Bearer%20a%3Db, x-tenant=7", "1"), ST_OK);
    cr_assert(span_begin(&span, STR_NONE, true));
    do_something(&span);
    (void)collector_await(collector, "", 1);
    head = collector_head(collector);
    cr_expect_eq(strncmp(head, "POST /tenant/v1/traces HTTP/1.1\r\n", 33), 0, "%s", head);
    cr_expect_not_null(strstr(head, "\r\nauthorization: Bearer a=b\r\n"), "%s", head);
    cr_expect_not_null(strstr(head, "\r\nx-tenant: 7\r\n"), "%s", head);
    cr_expect_not_null(strstr(head, "\r\nContent-Type: application/json\r\n"), "%s", head);
    trace_close();
}

Test(trace, refuses_settings_that_cannot_be_meant)
{
    static const char *const bad[][3] = {
        {"collector:4318", "", "1"},
        {"ftp://collector", "", "1"},
        {"http://collector", "token", "1"},
        {"http://collector", "=x", "1"},
        {"http://collector", "a=%0d%0ax", "1"},
        {"http://collector", "a=%00", "1"},
        {"http://collector", "", "1.5"},
        {"http://collector", "", "-1"},
        {"http://collector", "", "half"},
        {"http://collector", "", ""},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_expect_eq(open_with(bad[i][0], bad[i][1], bad[i][2]), ST_REFUSED, "%zu", i);
    cr_expect_not(trace_is_on());
}

Test(trace, counts_as_failed_what_the_collector_does_not_take)
{
    struct collector *collector = collector_start(503);
    struct span span;

    cr_assert_eq(open_with(collector_url(collector), "", "1"), ST_OK);
    for (int i = 0; i < 3; i++) {
        (void)span_begin(&span, STR_NONE, true);
        do_something(&span);
    }
    trace_close();
    cr_expect_eq(metric("failed"), 3);
    cr_expect_eq(metric("sent"), 0);
}

Test(trace, drops_and_counts_what_is_too_much_and_never_waits)
{
    enum { ALL = 4 * SPANS_MAX };
    struct collector *mute = collector_start(0);
    int64_t start_us = clock_mono_us();
    struct span span;

    cr_assert_eq(open_with(collector_url(mute), "", "1"), ST_OK);
    for (int i = 0; i < ALL; i++) {
        cr_assert(span_begin(&span, STR_NONE, true));
        do_something(&span);
    }
    /* None has waited for the collector: not even the first request has been given up. */
    cr_expect_eq(metric("failed"), 0);
    trace_close();
    /* A request that is not answered is given up after 5 s, and after one when all ends. */
    cr_expect_lt(clock_mono_us() - start_us, 4000000);
    cr_expect_geq(metric("dropped"), ALL - 2 * SPANS_MAX);
    cr_expect_eq(metric("dropped") + metric("failed"), ALL);
}

Test(trace, sends_what_is_left_when_it_is_closed)
{
    struct collector *collector = NULL;
    long long failed = -1;

    /* Until the machine is quick enough for the second that this may take. */
    for (int attempt = 0; attempt < 10 && failed != 0; attempt++) {
        long long before = metric("failed");
        struct span span;

        collector = collector_start(200);
        cr_assert_eq(open_with(collector_url(collector), "", "1"), ST_OK);
        for (int i = 0; i < 100; i++) {
            (void)span_begin(&span, STR_NONE, true);
            do_something(&span);
        }
        trace_close();
        failed = metric("failed") - (before > 0 ? before : 0);
    }
    cr_expect_eq(json_array_size(collector_spans(collector, "")), 100);
}

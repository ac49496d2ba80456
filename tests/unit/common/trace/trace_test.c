/* Spans and how they are sent to a collector, over real HTTP. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/metrics.h"
#include "common/trace/trace.h"
#include "tests/support/collector.h"
#include "tests/support/own_names.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"

static enum status open_with(const char *endpoint, const char *headers, const char *ratio)
{
    const struct trace_settings settings = {
        .endpoint = endpoint, .headers = headers, .ca_file = "", .ratio = ratio};

    return trace_open(&settings, &(struct trace_origin){"sample", "sample-0", NULL});
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

/* -- recording -------------------------------------------------------------------------------- */

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

Test(trace, continues_as_a_child_of_the_callers_span)
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

Test(trace, is_not_recorded_if_the_caller_does_not_record_its_own)
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

    for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
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

/* -- sending ---------------------------------------------------------------------------------- */

Test(trace, is_sent_as_the_settings_specify)
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

Test(trace, is_sent_past_a_proxy_of_the_environment)
{
    struct collector *collector = collector_start(200);
    struct span span;

    setenv("http_proxy", "http://127.0.0.1:9", 1);
    setenv("all_proxy", "http://127.0.0.1:9", 1);
    cr_assert_eq(open_with(collector_url(collector), "", "1"), ST_OK);
    cr_assert(span_begin(&span, STR_NONE, true));
    do_something(&span);
    (void)collector_await(collector, "", 1);
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

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_expect_eq(open_with(bad[i][0], bad[i][1], bad[i][2]), ST_REFUSED, "%zu", i);
    cr_expect_not(trace_is_on());
}

Test(trace, counts_spans_that_the_collector_refuses_as_failed)
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

Test(trace, drops_and_counts_excess_spans_and_never_waits)
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
    /* No span waited for the collector: not even the first request has timed out. */
    cr_expect_eq(metric("failed"), 0);
    trace_close();
    /* An unanswered request times out after 5 s, and after 1 s at the end. */
    cr_expect_lt(clock_mono_us() - start_us, 4000000);
    cr_expect_geq(metric("dropped"), ALL - 2 * SPANS_MAX);
    cr_expect_eq(metric("dropped") + metric("failed"), ALL);
}

Test(trace, sends_remaining_spans_when_it_is_closed)
{
    struct collector *collector = NULL;
    long long failed = -1;

    /* Repeats until the machine is fast enough for the second that this may take. */
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

/* libc waits for it for 10 s. */
Test(trace, is_closed_while_a_name_server_is_silent)
{
    const int64_t began_us = clock_mono_us();
    struct span span;

    own_names("127.0.0.1 localhost\n", "127.66.0.4");
    cr_assert_eq(open_with("http://collector.example.net", "", "1"), ST_OK);
    (void)span_begin(&span, STR_NONE, true);
    do_something(&span);
    trace_close();
    cr_expect_lt(clock_mono_us() - began_us, 8 * 1000 * 1000);
    cr_expect_eq(metric("failed"), 1);
}

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"
#define ZERO  "00000000000000000000000000000000"

static bool is_good(const char *text)
{
    struct trace_context context;

    return trace_context_parse(str_of(text), &context);
}

Test(context, is_read_from_a_traceparent)
{
    static const uint8_t trace_id[] = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
                                       0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};
    static const uint8_t span_id[] = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7};
    struct trace_context context;

    cr_assert(trace_context_parse(STR("00-" TRACE "-" SPAN "-01"), &context));
    cr_expect_arr_eq(context.trace_id, trace_id, sizeof(trace_id));
    cr_expect_arr_eq(context.span_id, span_id, sizeof(span_id));
    cr_expect(context.is_sampled);
    cr_assert(trace_context_parse(STR("00-" TRACE "-" SPAN "-00"), &context));
    cr_expect_not(context.is_sampled);
    cr_assert(trace_context_parse(STR("00-" TRACE "-" SPAN "-02"), &context));
    cr_expect_not(context.is_sampled, "of the flags only the lowest is ours to know");
}

Test(context, of_a_later_version_is_read_as_far_as_it_is_known)
{
    cr_expect(is_good("01-" TRACE "-" SPAN "-01"));
    cr_expect(is_good("01-" TRACE "-" SPAN "-01-what-comes-later"));
    cr_expect_not(is_good("01-" TRACE "-" SPAN "-01more"));
    cr_expect_not(is_good("01-" TRACE "-" SPAN "-01-a b"));
}

Test(context, that_is_malformed_is_ignored)
{
    static const char *const bad[] = {
        "",
        "00-" TRACE "-" SPAN,
        "00-" TRACE "-" SPAN "-01-more",
        "ff-" TRACE "-" SPAN "-01",
        "00-" ZERO "-" SPAN "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
        "00_" TRACE "-" SPAN "-01",
        "00-" TRACE "_" SPAN "-01",
        "00-" TRACE "-" SPAN "_01",
        "0g-" TRACE "-" SPAN "-01",
        "00-" TRACE "-" SPAN "-0g",
        " 0-" TRACE "-" SPAN "-01",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        cr_expect_not(is_good(bad[i]), "%s", bad[i]);
        cr_expect_null(trace_id_of(str_of(bad[i])).p, "%s", bad[i]);
    }
    cr_expect_null(trace_id_of(STR_NONE).p);
}

Test(context, is_written_as_it_is_read)
{
    static const char *const texts[] = {"00-" TRACE "-" SPAN "-01", "00-" TRACE "-" SPAN "-00"};
    struct trace_context context;
    char again[TRACEPARENT_TEXT + 1];

    for (size_t i = 0; i < 2; i++) {
        cr_assert(trace_context_parse(str_of(texts[i]), &context));
        trace_context_format(&context, again);
        cr_expect_str_eq(again, texts[i]);
    }
}

Test(context, gives_the_log_its_trace)
{
    struct str id = trace_id_of(STR("00-" TRACE "-" SPAN "-01"));

    cr_expect(str_equal(id, STR(TRACE)));
}

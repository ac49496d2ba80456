/* Receivers of every kind, each with the error class that its deliveries get. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/measure.h"
#include "tests/support/webhooks.h"

TestSuite(webhook_answers, .init = stack_share);

static const json_t *send(struct receiver *receiver, const char *path)
{
    struct org org;
    struct webhook webhook;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, path), "ticket.created", &webhook);
    return webhook_test(&org, &webhook);
}

static double duration_ms(const json_t *delivery)
{
    return json_number_value(json_object_get(delivery, "duration_ms"));
}

Test(webhook_answers, each_status_has_its_class)
{
    static const struct {
        int status;
        const char *state, *error;
    } cases[] = {
        {200, "succeeded", ""},      {201, "succeeded", ""},        {204, "succeeded", ""},
        {299, "succeeded", ""},      {301, "failed", "http_3xx"},   {304, "failed", "http_3xx"},
        {400, "failed", "http_4xx"}, {401, "failed", "http_4xx"},   {404, "failed", "http_4xx"},
        {410, "failed", "http_4xx"}, {429, "failed", "http_4xx"},   {500, "failed", "http_5xx"},
        {503, "failed", "http_5xx"}, {600, "failed", "http_other"},
    };
    struct receiver *receiver = receiver_start("good");

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const json_t *delivery = send(receiver, format("/status/%d", cases[i].status));

        cr_expect_str_eq(text_of(delivery, "state"), cases[i].state, "%d", cases[i].status);
        cr_expect_str_eq(text_of(delivery, "error"), cases[i].error, "%d", cases[i].status);
        cr_expect_eq(json_integer_value(json_object_get(delivery, "http_status")), cases[i].status);
    }
}

/* libcurl would append such a line to the last header of the previous answer, which is freed. */
Test(webhook_answers, a_continued_first_line_is_not_appended_to_the_previous_response)
{
    struct receiver *receiver = receiver_start("good");

    for (int i = 0; i < 4; i++) {
        cr_expect_str_eq(text_of(send(receiver, "/ok"), "state"), "succeeded");
        cr_expect_str_eq(text_of(send(receiver, "/goes-on"), "error"), "protocol");
    }
}

Test(webhook_answers, a_redirect_is_not_followed)
{
    struct receiver *receiver = receiver_start("good");
    const json_t *delivery = send(receiver, "/redirect");

    cr_assert_str_eq(text_of(delivery, "error"), "http_3xx");
    cr_assert_eq(receiver_connections(receiver), 1);
    cr_assert_eq(receiver_count(receiver, "/ok"), 0);
}

Test(webhook_answers, bad_certificates_fail_as_tls)
{
    static const char *const bad[] = {"expired", "other", "self", "stranger", "plain"};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct receiver *receiver = receiver_start(bad[i]);
        const json_t *delivery = send(receiver, "/ok");

        cr_expect_str_eq(text_of(delivery, "error"), "tls", "%s: %s", bad[i],
                         text_of(delivery, "error"));
        cr_expect_eq(receiver_count(receiver, "/"), 0, "%s", bad[i]);
    }
}

/* Whether the n-th delivery succeeded; if not, it timed out after 8 s by the service's clock. */
static bool is_in_time(const struct org *org, const struct webhook *webhook, int n)
{
    const json_t *delivery;

    webhook_await(org, webhook, n, 30000);
    delivery = webhook_delivery(org, webhook, 0);
    if (strcmp(text_of(delivery, "state"), "succeeded") == 0)
        return true;
    cr_expect_str_eq(text_of(delivery, "error"), "timeout");
    cr_expect_geq(duration_ms(delivery), 7900);
    cr_expect_leq(duration_ms(delivery), 2 * 8000, "the attempt did not end in time");
    return false;
}

Test(webhook_answers, an_answer_is_in_time_before_8_seconds_and_late_after)
{
    struct receiver *receiver = receiver_start("good");
    bool drips_in_time = false, slow_in_time = false;
    struct webhook drips, slow, too_slow, hangs;
    struct org org;

    org_new(&org);
    /* The margin is a tenth of a second, and more beside other tests or under a sanitizer. */
    webhook_new(&org, receiver_url(receiver, format("/drip/%d", (int)(8000 - limit_scaled(100)))),
                "ticket.created", &drips);
    webhook_new(&org, receiver_url(receiver, format("/slow/%d", (int)(8000 - limit_scaled(200)))),
                "ticket.created", &slow);
    webhook_new(&org, receiver_url(receiver, format("/slow/%d", (int)(8000 + limit_scaled(100)))),
                "ticket.created", &too_slow);
    webhook_new(&org, receiver_url(receiver, "/hang"), "ticket.created", &hangs);
    /* Repeated if the machine, not the receiver, has used up the margin. */
    for (int n = 1; n <= 5 && !(drips_in_time && slow_in_time); n++) {
        publish_ticket(&org, "ticket.created", format("T-%d", n));
        drips_in_time |= is_in_time(&org, &drips, n);
        slow_in_time |= is_in_time(&org, &slow, n);
        cr_expect_not(is_in_time(&org, &too_slow, n));
        cr_expect_not(is_in_time(&org, &hangs, n));
    }
    cr_expect(drips_in_time);
    cr_expect(slow_in_time);
}

Test(webhook_answers, answers_without_end_cost_no_memory)
{
    static const struct {
        const char *path, *error;
    } cases[] = {
        {"/endless-head", "protocol"},
        {"/endless-line", "protocol"},
        {"/endless-100", "protocol"},
        {"/bad-chunk", ""},
        {"/upgrade", "http_other"},
        {"/squeezed", ""},
        {"/full", ""},
        {"/big", ""},
        {"/gzip", ""},
        {"/cut", "closed"},
        {"/half", ""},
        {"/garbage", "protocol"},
        {"/no-header", "protocol"},
    };
    struct receiver *receiver = receiver_start("good");
    long before_kb, after_kb;

    send(receiver, "/ok");
    before_kb = measure_memory_kb(stack_pid("webhook-0"));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const json_t *delivery = send(receiver, cases[i].path);

        cr_expect_str_eq(text_of(delivery, "error"), cases[i].error, "%s: %s", cases[i].path,
                         text_of(delivery, "error"));
        cr_expect_leq(duration_ms(delivery), limit_scaled(2000), "%s", cases[i].path);
    }
    after_kb = measure_memory_kb(stack_pid("webhook-0"));
    cr_expect_leq(after_kb, before_kb + limit_scaled(16 * 1024), "%ld KB before, %ld KB after",
                  before_kb, after_kb);
}

/* The status has come; the rest would cost a slot for 8 s. */
Test(webhook_answers, a_body_without_end_is_waited_for_one_second)
{
    struct receiver *receiver = receiver_start("good");
    const json_t *delivery = send(receiver, "/drip/20000");

    cr_expect_str_eq(text_of(delivery, "state"), "succeeded");
    cr_expect_geq(duration_ms(delivery), 1000);
    cr_expect_leq(duration_ms(delivery), limit_scaled(2000));
    cr_expect_eq(strncmp(text_of(delivery, "excerpt"), "...", 3), 0);
}

Test(webhook_answers, an_answer_is_kept_as_inert_text_of_4_kb_at_most)
{
    struct receiver *receiver = receiver_start("good");
    const json_t *delivery = send(receiver, "/escape");

    cr_assert_str_eq(text_of(delivery, "excerpt"), ".[31m<b>..\nx");
    delivery = send(receiver, "/big");
    cr_assert_str_eq(text_of(delivery, "state"), "succeeded");
    cr_assert_eq(strlen(text_of(delivery, "excerpt")), 4096);
}

Test(webhook_answers, an_address_without_a_listener_fails_as_connect)
{
    struct org org;
    struct webhook webhook;

    org_new(&org);
    webhook_new(&org, "https://127.0.0.1:1024/", "ticket.created", &webhook);
    cr_assert_str_eq(text_of(webhook_test(&org, &webhook), "error"), "connect");
}

Test(webhook_answers, a_delivery_shows_the_time_of_each_phase)
{
    struct receiver *receiver = receiver_start("good");
    const json_t *delivery = send(receiver, "/slow/100"), *timings;

    timings = json_object_get(delivery, "timings");
    expect_members(timings, "dns_ms connect_ms tls_ms wait_ms");
    cr_assert_geq(json_number_value(json_object_get(timings, "wait_ms")), 90);
    cr_assert(json_is_null(json_object_get(timings, "dns_ms")));
    cr_assert_str_eq(text_of(delivery, "address"), "127.0.0.1");
    cr_assert_str_eq(text_of(delivery, "excerpt"), "ok\n");
}

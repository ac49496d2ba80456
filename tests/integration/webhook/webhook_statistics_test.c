/* Statistics of attempts over time, counted when a result is recorded. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "common/base/clock.h"
#include "proto/subject.h"
#include "tests/support/service_client.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

TestSuite(webhook_statistics, .init = service_connection_open, .fini = service_connection_close);

static const char *body_of(int64_t since, int64_t until, int step)
{
    return format("{\"since\":%" PRId64 ",\"until\":%" PRId64 ",\"step\":%d}", since, until, step);
}

static json_int_t sum(const json_t *statistics, const char *member)
{
    const json_t *point;
    json_int_t n = 0;
    size_t i;

    json_array_foreach(json_object_get(statistics, "points"), i, point) n +=
        json_integer_value(json_object_get(point, member));
    return n;
}

Test(webhook_statistics, counts_attempts_by_the_minute)
{
    static const int steps[] = {60, 900, 3600};
    const int64_t now = clock_us() / 1000000;
    struct receiver *receiver = receiver_start("good");
    struct webhook good, bad;
    struct org org, other;
    json_t *statistics;

    org_new(&org);
    org_new(&other);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &good);
    webhook_new(&org, receiver_url(receiver, "/status/500"), "ticket.created", &bad);
    for (int i = 0; i < 3; i++)
        webhook_test(&org, &good);
    webhook_test(&org, &bad);
    for (size_t i = 0; i < 3; i++) {
        statistics =
            service_client_get_as(service_connection, &some_user, SUBJECT_WEBHOOK_STATISTICS,
                                  org.id, body_of(now - 7200, now + 120, steps[i]));
        cr_expect_eq(sum(statistics, "delivered"), 3);
        cr_expect_eq(sum(statistics, "failed"), 1);
        cr_expect_eq(json_integer_value(json_object_get(statistics, "step")), steps[i]);
    }
    statistics = service_client_get_as(service_connection, &some_user, SUBJECT_WEBHOOK_STATISTICS,
                                       other.id, body_of(now - 60, now, 60));
    cr_expect_eq(sum(statistics, "delivered"), 0,
                 "another organization's deliveries are not counted");
}

/* Steps begin at multiples of their length, and none is left out. */
Test(webhook_statistics, shows_every_step)
{
    struct org org;
    json_t *statistics, *expected;

    org_new(&org);
    sql_text("INSERT INTO webhook.statistics VALUES ($1::uuid, to_timestamp(1700000100), 2, 1),"
             " ($1, to_timestamp(1700000940), 1, 0), ($1, to_timestamp(1700002800), 7, 0) "
             "RETURNING 'done'",
             org.id, NULL);
    statistics = service_client_get_as(service_connection, &some_user, SUBJECT_WEBHOOK_STATISTICS,
                                       org.id, body_of(1700000200, 1700002800, 900));
    expected = json_loads("{\"step\":900,\"points\":["
                          "{\"at\":1700000100,\"delivered\":3,\"failed\":1,\"skipped\":0},"
                          "{\"at\":1700001000,\"delivered\":0,\"failed\":0,\"skipped\":0},"
                          "{\"at\":1700001900,\"delivered\":0,\"failed\":0,\"skipped\":0}]}",
                          0, NULL);
    cr_expect(json_equal(statistics, expected), "%s", json_dumps(statistics, 0));
    json_decref(expected);
}

Test(webhook_statistics, refuses_times_that_make_no_sense)
{
    static const struct {
        int64_t since, until;
        int step;
    } wrong[] = {{100, 100, 60}, {200, 100, 60},     {0, 100, 61},
                 {0, 100, 0},    {0, 1501 * 60, 60}, {59, 1500 * 60 + 1, 60}};
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        cr_expect_eq(service_client_call_as(service_connection, &some_user,
                                            SUBJECT_WEBHOOK_STATISTICS, org.id,
                                            body_of(wrong[i].since, wrong[i].until, wrong[i].step))
                         .outcome,
                     OUTCOME_PARAMETER_INVALID, "%zu", i);
    cr_expect_eq(service_client_call_as(service_connection, &some_user, SUBJECT_WEBHOOK_STATISTICS,
                                        org.id, "{}")
                     .outcome,
                 OUTCOME_PARAMETER_NOT_FOUND);
}

/* Receivers that hang, many deliveries, many dead endpoints. TEST_LONG=1 runs the full sizes. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/measure.h"
#include "tests/support/never_free.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

TestSuite(webhook_load, .init = stack_have_alone);

/* Inserts n endpoints for one event directly into the table. */
static void make_endpoints(const struct org *org, const char *url, const char *event, int n)
{
    sql_text("WITH made AS (INSERT INTO webhook.endpoints (organization_id, id, url, events,"
             " signing, secret) SELECT $1::uuid, gen_random_uuid(), $2, ARRAY[$3], false, ''"
             " FROM generate_series(1, $4::int) RETURNING id) SELECT count(*) FROM made",
             org->id, url, event, format("%d", n), NULL);
}

/* Leaves no work for the tests that follow. */
static void drop_endpoints(const struct org *org)
{
    struct pg_conn *lock = webhooks_lock_queue();

    sql_text("WITH e AS (DELETE FROM webhook.endpoints WHERE organization_id = $1::uuid RETURNING"
             " id), q AS (DELETE FROM webhook.queue WHERE organization_id = $1::uuid RETURNING id),"
             " v AS (UPDATE webhook.events SET dispatched = true WHERE organization_id = $1::uuid"
             " AND NOT dispatched RETURNING id) SELECT count(*) FROM e",
             org->id, NULL);
    webhooks_unlock_queue(lock);
}

static void wait_until(int64_t at_us)
{
    const int64_t left_us = at_us - clock_mono_us();

    if (left_us > 0)
        poll(NULL, 0, (int)(left_us / 1000));
}

/* How late deliveries began. */
struct delay {
    int64_t p50_us, p99_us;
};

static struct delay delay_of(int64_t *late_us, int n)
{
    return (struct delay){.p50_us = percentile(late_us, (size_t)n, 50),
                          .p99_us = percentile(late_us, (size_t)n, 99)};
}

Test(webhook_load, endpoints_that_hang_do_not_delay_a_healthy_one)
{
    enum { EVENTS_MAX = 300, LATE_US = 1000 * 1000 };
    /* Stays somewhat below the deliveries a minute that an organization may have. */
    const int hanging = long_form_or(100, 40), per_second = long_form_or(4, 50),
              events = per_second * long_form_or(60, 5);
    static int64_t sent_us[EVENTS_MAX], late_us[EVENTS_MAX];
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook healthy;
    struct delay delay;
    int64_t began_us;
    pid_t service = stack_pid("webhook-0");
    long before_kb, after_kb;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "conversation.created", &healthy);
    webhook_test(&org, &healthy);
    make_endpoints(&org, receiver_url(receiver, "/hang"), "conversation.created", hanging);
    before_kb = measure_memory_kb(service);
    began_us = clock_mono_us();
    for (int i = 0; i < events; i++) {
        wait_until(began_us + i * INT64_C(1000000) / per_second);
        new_conversation(&org, format("c-%d", i), "u");
        sent_us[i] = clock_mono_us();
    }
    receiver_await(receiver, "/ok", (size_t)events + 1, 10000);
    /* Deliveries may arrive out of order: compares the i-th arrival with the i-th event sent. */
    for (int i = 0; i < events; i++)
        late_us[i] = receiver_get(receiver, "/ok", (size_t)i + 1)->at_us - sent_us[i];
    delay = delay_of(late_us, events);
    after_kb = measure_memory_kb(service);
    fprintf(
        stderr,
        "%d hanging, %d events: start delay p50 %lld ms, p99 %lld ms; memory %ld kB to %ld kB\n",
        hanging, events, (long long)delay.p50_us / 1000, (long long)delay.p99_us / 1000, before_kb,
        after_kb);
    cr_expect_lt(delay.p99_us, limit_scaled(LATE_US));
    cr_expect_lt(after_kb, before_kb + limit_scaled(32 * 1024));
    drop_endpoints(&org);
}

/* One organization makes events for many endpoints faster than they can be fanned out. */
Test(webhook_load, a_backlog_of_one_organization_delays_no_other)
{
    enum { EVENTS_MAX = 600, ENDPOINTS = 50, PACE_US = 100 * 1000, LATE_US = 1000 * 1000 };
    const int backlog = long_form_or(40000, 4000), events = long_form_or(EVENTS_MAX, 50);
    static int64_t sent_us[EVENTS_MAX], late_us[EVENTS_MAX];
    struct receiver *receiver = receiver_start("good");
    struct org busy, org;
    struct webhook webhook;
    struct delay delay;
    int64_t began_us, minutes, rows;

    org_new(&busy);
    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &webhook);
    webhook_test(&org, &webhook);
    make_endpoints(&busy, "https://127.0.0.1:1024/", "ticket.created", ENDPOINTS);
    began_us = clock_mono_us();
    store_events(&busy, "ticket.created", backlog);
    for (int i = 0; i < events; i++) {
        wait_until(began_us + (int64_t)i * PACE_US);
        publish_ticket(&org, "ticket.created", format("T-%d", i));
        sent_us[i] = clock_mono_us();
    }
    receiver_await(receiver, "/ok", (size_t)events + 1, 10000);
    minutes = (clock_mono_us() - began_us) / 60000000 + 2; /* calendar minutes, at most */
    for (int i = 0; i < events; i++)
        late_us[i] = receiver_get(receiver, "/ok", (size_t)i + 1)->at_us - sent_us[i];
    rows = sql_integer("SELECT (SELECT count(*) FROM webhook.queue WHERE organization_id ="
                       " $1::uuid) + (SELECT count(*) FROM webhook.deliveries"
                       " WHERE organization_id = $1::uuid)",
                       busy.id, NULL);
    delay = delay_of(late_us, events);
    fprintf(stderr,
            "%d events for %d endpoints each: start delay of another p50 %lld ms, p99 %lld ms;"
            " %lld rows\n",
            backlog, ENDPOINTS, (long long)delay.p50_us / 1000, (long long)delay.p99_us / 1000,
            (long long)rows);
    cr_expect_lt(delay.p99_us, limit_scaled(LATE_US));
    cr_expect_leq(rows, 2 * 30000 * minutes);
    drop_endpoints(&busy);
}

Test(webhook_load, many_deliveries_a_second)
{
    enum { ENDPOINTS = 20 };
    const int events = long_form_or(500, 40);
    struct receiver *receiver = receiver_start("good");
    struct org org[2];
    int64_t began_us, took_us;

    for (int i = 0; i < 2; i++) {
        org_new(&org[i]);
        make_endpoints(&org[i], receiver_url(receiver, "/ok"), "ticket.created", ENDPOINTS / 2);
    }
    began_us = clock_mono_us();
    for (int i = 0; i < 2; i++)
        store_events(&org[i], "ticket.created", events);
    receiver_await(receiver, "/ok", (size_t)events * ENDPOINTS, 120000);
    took_us = clock_mono_us() - began_us;
    fprintf(stderr, "%d deliveries in %lld ms: %lld a second\n", events * ENDPOINTS,
            (long long)took_us / 1000, (long long)events * ENDPOINTS * 1000000 / took_us);
    cr_expect_gt((long long)events * ENDPOINTS * 1000000 / took_us, 100 / limit_scaled(1));
    for (int i = 0; i < 2; i++)
        drop_endpoints(&org[i]);
}

/* A proven endpoint that responds quickly is not held back by the sender's transactions. */
Test(webhook_load, many_deliveries_a_second_to_one_endpoint)
{
    const int events = long_form_or(5000, 500);
    struct receiver *receiver = receiver_start("good");
    struct webhook webhook;
    struct org org;
    int64_t began_us, took_us;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &webhook);
    webhook_test(&org, &webhook);
    began_us = clock_mono_us();
    store_events(&org, "ticket.created", events);
    receiver_await(receiver, "/ok", (size_t)events + 1, 120000);
    took_us = clock_mono_us() - began_us;
    fprintf(stderr, "%d deliveries to one endpoint in %lld ms: %lld a second\n", events,
            (long long)took_us / 1000, (long long)events * 1000000 / took_us);
    cr_expect_gt((long long)events * 1000000 / took_us, 100 / limit_scaled(1));
    drop_endpoints(&org);
}

/* Creates, one after the other, at a steady pace. */
static void time_creates(const struct org *org, int64_t *took_us, int n, int *number)
{
    enum { PACE_US = 25 * 1000 };
    const int64_t began_us = clock_mono_us();

    for (int i = 0; i < n; i++) {
        wait_until(began_us + i * PACE_US);
        took_us[i] =
            api_create(org->full_key, "{\"external_id\":\"c-%d\",\"from\":{\"external_id\":\"u\"}}",
                       (*number)++)
                ->took_us;
    }
}

/* Alternates between the two, since the machine's speed varies. */
Test(webhook_load, creating_is_not_slowed_by_dead_endpoints)
{
    enum { TURNS_MAX = 8, EACH = 50 };
    const int dead = long_form_or(1000, 200), turns = long_form_or(TURNS_MAX, 2), n = turns * EACH;
    static int64_t without_us[TURNS_MAX * EACH], with_us[TURNS_MAX * EACH];
    struct org none, many;
    int64_t p50_without_us, p50_with_us;
    int number = 0;

    org_new(&none);
    org_new(&many);
    time_creates(&none, without_us, EACH, &number);
    time_creates(&many, with_us, EACH, &number);
    for (int i = 0; i < turns; i++) {
        time_creates(&none, without_us + i * EACH, EACH, &number);
        make_endpoints(&many, "https://127.0.0.1:1024/", "conversation.created", dead);
        time_creates(&many, with_us + i * EACH, EACH, &number);
        drop_endpoints(&many);
    }
    p50_without_us = percentile(without_us, (size_t)n, 50);
    p50_with_us = percentile(with_us, (size_t)n, 50);
    fprintf(stderr, "create, median: %lld us without, %lld us with %d dead endpoints: ratio %.2f\n",
            (long long)p50_without_us, (long long)p50_with_us, dead,
            (double)p50_with_us / (double)p50_without_us);
    cr_expect_lt(p50_with_us, p50_without_us * limit_scaled(2));
}

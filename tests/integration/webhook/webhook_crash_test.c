/* The webhook service is killed repeatedly while it delivers: no event is lost, and an attempt that
 * is made again is on record as interrupted. TEST_LONG=1: 2,000 events, 10 endpoints, 20 kills; and
 * 8,000 deliveries to names with addresses that do not answer, 16 kills. */
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/support/measure.h"
#include "tests/support/nameserver.h"
#include "tests/support/never_free.h"
#include "tests/support/port.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

static void restore(void)
{
    cr_assert(replicas_of_stack_await_ready(30000), "the stack did not come back");
}

TestSuite(webhook_crash, .init = stack_have_alone, .fini = restore);

enum { ENDPOINTS_MAX = 10, TIMEOUT_MS = 60000, LONG_TIMEOUT_MS = 240000 };

static bool is_done(void *closure)
{
    const struct org *org = closure;

    return sql_integer("SELECT (SELECT count(*) FROM webhook.events"
                       "         WHERE organization_id = $1::uuid AND NOT dispatched)"
                       "     + (SELECT count(*) FROM webhook.queue"
                       "         WHERE organization_id = $1::uuid)",
                       org->id, NULL) == 0;
}

/* Frees the claims of killed processes at once: the test does not wait for them to expire. */
static void end_leases(const struct org *org)
{
    sql_text("WITH ended AS (UPDATE webhook.queue SET lease_until = clock_timestamp()"
             " WHERE organization_id = $1::uuid AND lease_until IS NOT NULL RETURNING id)"
             " SELECT count(*) FROM ended",
             org->id, NULL);
}

/* Inserts events as services leave them in the outbox. */
static void make_events(const struct org *org, int n)
{
    sql_text(
        "WITH made AS (INSERT INTO webhook.events (organization_id, id, type, data, created_at)"
        " SELECT $1::uuid, gen_random_uuid(), 'ticket.created',"
        "        jsonb_build_object('id', 'T-' || i, 'status', 'open'), clock_timestamp()"
        "   FROM generate_series(1, $2::int) i RETURNING id) SELECT count(*) FROM made",
        org->id, format("%d", n), NULL);
}

#define SILENT         "a-127-0-0-8"
#define SILENT_ADDRESS "127.0.0.8"

/* Compares how often events came to this endpoint with what is on record. */
static void check_consistency(const struct org *org, const struct webhook *webhook,
                              struct receiver *receiver, const char *path, int events, int *doubles)
{
    const size_t came = receiver_count(receiver, path);
    const char *const ids[] = {org->id, webhook->id};
    const long long delivered = sql_integer(
        "SELECT count(DISTINCT event_id) FROM webhook.deliveries WHERE organization_id = $1::uuid"
        " AND endpoint_id = $2::uuid AND state IN ('succeeded', 'quarantined')",
        ids[0], ids[1], NULL);
    const long long interrupted =
        sql_integer("SELECT count(*) FROM webhook.deliveries WHERE organization_id = $1::uuid"
                    " AND endpoint_id = $2::uuid AND state IN ('interrupted', 'quarantined')",
                    ids[0], ids[1], NULL);
    const long long succeeded =
        sql_integer("SELECT count(*) FROM webhook.deliveries WHERE organization_id = $1::uuid"
                    " AND endpoint_id = $2::uuid AND state = 'succeeded'",
                    ids[0], ids[1], NULL);

    cr_expect_eq(delivered, events, "%lld of %d events", delivered, events);
    /* Requests beyond the successes belong to interrupted attempts. */
    cr_expect_geq(came, (size_t)succeeded);
    cr_expect_leq(came, (size_t)(succeeded + interrupted));
    *doubles += (int)came - events;
}

/* Each interrupted attempt was made again once, under a new id, for the same event. */
static void expect_made_again(const struct org *org)
{
    cr_expect_eq(sql_integer("SELECT count(*) FROM webhook.deliveries d"
                             " WHERE organization_id = $1::uuid AND state = 'interrupted'"
                             " AND 1 <> (SELECT count(*) FROM webhook.deliveries n"
                             "            WHERE n.organization_id = d.organization_id"
                             "              AND n.previous_id = d.id AND n.event_id = d.event_id"
                             "              AND n.id <> d.id AND n.cause = 'recovery')",
                             org->id, NULL),
                 0);
}

/* Endpoint i is at the name hosts[i], with the receiver's port. Ends the service that often. */
static void deliver_and_kill(const char *const *hosts, int endpoints, int kills, int events)
{
    struct receiver *receiver = receiver_start("good");
    struct webhook webhooks[ENDPOINTS_MAX];
    const char *paths[ENDPOINTS_MAX];
    struct org org;
    int doubles = 0;

    org_new(&org);
    for (int i = 0; i < endpoints; i++) {
        paths[i] = format("/slow/5/%d/", i);
        webhook_new(&org, format("https://%s:%d%s", hosts[i], receiver_port(receiver), paths[i]),
                    "ticket.created", &webhooks[i]);
        if (strstr(hosts[i], SILENT) != NULL)
            port_silent(SILENT_ADDRESS, (uint16_t)receiver_port(receiver));
    }
    for (int i = 0; i < kills; i++) {
        const size_t came = receiver_count(receiver, "/");

        make_events(&org, events / kills);
        receiver_await(receiver, "/", came + 5, TIMEOUT_MS);
        poll(NULL, 0, rand() % 40);
        stack_end("webhook-0", SIGKILL);
    }
    if (long_form_or(0, 1) == 1)
        end_leases(&org);
    cr_assert(stack_wait(is_done, &org, long_form_or(LONG_TIMEOUT_MS, TIMEOUT_MS)),
              "deliveries are left in the queue");
    for (int i = 0; i < endpoints; i++)
        check_consistency(&org, &webhooks[i], receiver, paths[i], events, &doubles);
    expect_made_again(&org);
    fprintf(stderr, "%d events, %d endpoints, %d kills: %zu requests, %d doubles, %lld cut off\n",
            events, endpoints, kills, receiver_count(receiver, "/"), doubles,
            (long long)sql_integer("SELECT count(*) FROM webhook.deliveries WHERE organization_id ="
                                   " $1::uuid AND state = 'interrupted'",
                                   org.id, NULL));
}

Test(webhook_crash, every_event_has_its_attempt_at_every_endpoint_however_often_it_is_killed)
{
    const char *hosts[ENDPOINTS_MAX];

    for (int i = 0; i < ENDPOINTS_MAX; i++)
        hosts[i] = "127.0.0.1";
    deliver_and_kill(hosts, long_form_or(ENDPOINTS_MAX, 4), long_form_or(20, 2),
                     long_form_or(2000, 100));
}

/* Names of which one address works, the last one that counts. */
Test(webhook_crash, no_event_is_missing_at_a_receiver_that_is_hard_to_reach)
{
    static const char *const hosts[] = {
        "a-127-0-0-9--a-127-0-0-1.receiver.example.net", /* the first refuses */
        SILENT "--a-127-0-0-1.receiver.example.net",
        "aaaa-00000000000000000000000000000001--a-127-0-0-1.receiver.example.net",
        "silent-aaaa--a-127-0-0-1.receiver.example.net",
        "a-127-0-1-1-31--a-127-0-0-1--a-127-0-2-1.receiver.example.net", /* 33 addresses */
    };

    nameserver_start();
    deliver_and_kill(hosts, ARRAY_SIZE(hosts), long_form_or(16, 2), long_form_or(1600, 20));
}

Test(webhook_crash, a_delivery_that_crashes_a_worker_three_times_is_quarantined)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;
    const json_t *all;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/hang"), "ticket.created", &webhook);
    publish_ticket(&org, "ticket.created", "T-1");
    for (size_t i = 1; i <= 3; i++) {
        receiver_await(receiver, "/hang", i, TIMEOUT_MS);
        stack_end("webhook-0", SIGKILL);
        end_leases(&org);
    }
    cr_assert(stack_wait(is_done, &org, TIMEOUT_MS));
    all = never_free(convctl("webhook", "deliveries", "--org", org.id, webhook.id, NULL));
    cr_assert_eq(json_array_size(all), 3);
    cr_assert_str_eq(text_of(json_array_get(all, 0), "state"), "quarantined");
    cr_assert_str_eq(text_of(json_array_get(all, 1), "state"), "interrupted");
    cr_assert_str_eq(text_of(json_array_get(all, 2), "state"), "interrupted");
    cr_assert_str_eq(text_of(json_array_get(all, 0), "event_id"),
                     text_of(json_array_get(all, 2), "event_id"));
}

/* Ends a process during a request to a receiver: that one request delivers the event. */
static void end_beside_a_delivery(const char *name, int signal)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/slow/800"), "ticket.created", &webhook);
    publish_ticket(&org, "ticket.created", "T-1");
    receiver_await(receiver, "/slow", 1, TIMEOUT_MS);
    stack_end(name, signal);
    cr_assert(replicas_of_stack_await_ready(TIMEOUT_MS));
    webhook_await(&org, &webhook, 1, TIMEOUT_MS);
    cr_assert_str_eq(text_of(webhook_delivery(&org, &webhook, 0), "state"), "succeeded");
    cr_assert_eq(receiver_count(receiver, "/slow"), 1);
}

/* The retry waits in a table: the sender that runs when it is due sends it, once. */
Test(webhook_crash, a_retry_that_waits_outlives_its_sender)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/status/503"), "ticket.created", &webhook);
    never_free(
        convctl("webhook", "set", "--org", org.id, webhook.id, "--retries", "standard", NULL));
    publish_ticket(&org, "ticket.created", "T-1");
    webhook_await(&org, &webhook, 1, TIMEOUT_MS);
    stack_end("webhook-0", SIGKILL);
    cr_assert(replicas_of_stack_await_ready(TIMEOUT_MS));
    webhook_await(&org, &webhook, 2, TIMEOUT_MS);
    cr_assert_str_eq(text_of(webhook_delivery(&org, &webhook, 0), "cause"), "retry");
    cr_assert_eq(receiver_count(receiver, "/status"), 2);
    never_free(convctl("webhook", "delete", "--org", org.id, webhook.id, NULL));
}

Test(webhook_crash, an_orderly_stop_completes_attempts_in_flight)
{
    end_beside_a_delivery("webhook-0", SIGTERM);
}

Test(webhook_crash, a_database_that_restarts_costs_no_delivery)
{
    end_beside_a_delivery("postgres", SIGINT);
}

/* How long a claim lasts before another process may take it over. */
static int claim_ms(void)
{
    const char *setting = getenv("WEBHOOK_LEASE_MS");

    return setting != NULL ? atoi(setting) : 5000;
}

/* The receiver answers after the claim has expired, and the result can be recorded only later. */
Test(webhook_crash, a_stalled_database_makes_no_answer_late)
{
    struct receiver *receiver = receiver_start("good");
    const int slow_ms = claim_ms() * 7 / 5, stalled_ms = claim_ms() * 17 / 10;
    struct org org;
    struct webhook webhook;
    struct pg_conn *lock;
    int64_t since_us;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, format("/slow/%d", slow_ms)), "ticket.created",
                &webhook);
    publish_ticket(&org, "ticket.created", "T-1");
    receiver_await(receiver, "/slow", 1, TIMEOUT_MS);
    lock = webhooks_lock_queue();
    since_us = receiver_get(receiver, "/slow", 0)->at_us;
    stack_let_run(stalled_ms - (clock_mono_us() - since_us) / 1000);
    webhooks_unlock_queue(lock);
    webhook_await(&org, &webhook, 1, TIMEOUT_MS);
    cr_assert_str_eq(text_of(webhook_delivery(&org, &webhook, 0), "state"), "succeeded");
    cr_assert_eq(receiver_count(receiver, "/slow"), 1);
}

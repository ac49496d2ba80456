/* What operators see of deliveries, and what they resend. */
#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

#include "tests/support/never_free.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

TestSuite(webhook_log, .init = stack_share);

enum { SOON_MS = 30000 };

Test(webhook_log, events_of_a_disabled_endpoint_are_kept_and_can_be_sent_later)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;
    const json_t *delivery;
    const char *event;
    char code[64];

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &webhook);
    never_free(convctl("webhook", "set", "--org", org.id, webhook.id, "--enabled", "false", NULL));
    event = publish_ticket(&org, "ticket.created", "T-1");
    webhook_await(&org, &webhook, 1, SOON_MS);
    delivery = webhook_delivery(&org, &webhook, 0);
    cr_assert_str_eq(text_of(delivery, "state"), "skipped");
    cr_assert_str_eq(text_of(delivery, "error"), "endpoint_disabled");
    cr_assert_str_eq(text_of(delivery, "event_id"), event);
    cr_assert_eq(
        convctl_fails(code, "webhook", "resend", "--org", org.id, text_of(delivery, "id"), NULL),
        1);
    cr_assert_str_eq(code, "conflict");

    never_free(convctl("webhook", "set", "--org", org.id, webhook.id, "--enabled", "true", NULL));
    never_free(convctl("webhook", "resend", "--org", org.id, text_of(delivery, "id"), NULL));
    receiver_await(receiver, "/ok", 1, SOON_MS);
    cr_assert_str_eq(receiver_get(receiver, "/ok", 0)->event_id, event);
    webhook_await(&org, &webhook, 2, SOON_MS);
    cr_assert_str_eq(text_of(webhook_delivery(&org, &webhook, 0), "previous_id"),
                     text_of(delivery, "id"));
    cr_assert_str_eq(text_of(webhook_delivery(&org, &webhook, 0), "cause"), "resend");
}

Test(webhook_log, all_failed_events_since_a_time_are_resent)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;
    const json_t *told;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/status/500"), "ticket.created", &webhook);
    for (int i = 0; i < 5; i++)
        publish_ticket(&org, "ticket.created", format("T-%d", i));
    webhook_await(&org, &webhook, 5, SOON_MS);
    sql_text("UPDATE webhook.endpoints SET url = $2 WHERE id = $1::uuid RETURNING id", webhook.id,
             receiver_url(receiver, "/ok"), NULL);
    publish_ticket(&org, "ticket.created", "T-fine");
    webhook_await(&org, &webhook, 6, SOON_MS);

    told = never_free(
        convctl("webhook", "resend-failed", "--org", org.id, webhook.id, "--since", "0", NULL));
    cr_assert_eq(json_integer_value(json_object_get(told, "resent")), 5);
    webhook_await(&org, &webhook, 11, SOON_MS);
    cr_assert_eq(receiver_count(receiver, "/ok"), 6);
    told = never_free(
        convctl("webhook", "resend-failed", "--org", org.id, webhook.id, "--since", "0", NULL));
    cr_assert_eq(json_integer_value(json_object_get(told, "resent")), 0);
    told = never_free(convctl("webhook", "resend-failed", "--org", org.id, webhook.id, "--since",
                              "2000000000", NULL));
    cr_assert_eq(json_integer_value(json_object_get(told, "resent")), 0);
}

Test(webhook_log, an_event_resent_keeps_its_id_and_bytes)
{
    struct receiver *receiver = receiver_start("good");
    const struct received *first, *second;
    struct org org;
    struct webhook webhook;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "conversation.created", &webhook);
    new_conversation(&org, "c", "u");
    webhook_await(&org, &webhook, 1, SOON_MS);
    never_free(convctl("webhook", "resend", "--org", org.id,
                       text_of(webhook_delivery(&org, &webhook, 0), "id"), NULL));
    receiver_await(receiver, "/ok", 2, SOON_MS);
    first = receiver_get(receiver, "/ok", 0);
    second = receiver_get(receiver, "/ok", 1);
    cr_assert_str_eq(first->body, second->body);
    cr_assert_str_neq(first->delivery, second->delivery);
}

Test(webhook_log, health_follows_consecutive_failures)
{
    static const char *const healths[] = {"healthy",  "healthy", "degraded", "degraded",
                                          "degraded", "failing", "failing"};
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;
    const json_t *shown;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/status/503"), "ticket.created", &webhook);
    for (int failures = 0; failures < 7; failures++) {
        shown = webhook_shown(&org, &webhook);
        cr_assert_str_eq(text_of(shown, "health"), healths[failures], "after %d failures",
                         failures);
        cr_assert_eq(json_integer_value(json_object_get(shown, "attempts")), failures);
        cr_assert_str_eq(text_of(shown, "last_error"), failures == 0 ? "" : "http_5xx");
        webhook_test(&org, &webhook);
    }
    sql_text("UPDATE webhook.endpoints SET url = $2 WHERE id = $1::uuid RETURNING id", webhook.id,
             receiver_url(receiver, "/status/204"), NULL);
    webhook_test(&org, &webhook);
    shown = webhook_shown(&org, &webhook);
    cr_assert_str_eq(text_of(shown, "health"), "healthy");
    cr_assert_eq(json_integer_value(json_object_get(shown, "attempts")), 8);
    cr_assert_str_eq(text_of(shown, "last_error"), "http_5xx");
    cr_assert_eq(json_integer_value(json_object_get(shown, "last_http_status")), 204);
    cr_assert(json_is_null(json_object_get(shown, "failing_since")));
}

static bool is_named(void *closure)
{
    const struct webhook *webhook = closure;
    const struct replica replica = replica_of_stack("webhook-0");
    const char *all = replica_metrics(&replica);

    return strstr(all, format("endpoint_id=\"%s\"} 4320", webhook->id)) != NULL;
}

Test(webhook_log, an_endpoint_that_fails_for_long_is_named_by_a_metric_and_stays_enabled)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;
    const json_t *shown;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &webhook);
    sql_text("UPDATE webhook.progress SET consecutive_failures = 5,"
             " failing_since = now() - interval '432001 s' WHERE id = $1::uuid RETURNING id",
             webhook.id, NULL);
    shown = webhook_shown(&org, &webhook);
    cr_assert_leq(json_integer_value(json_object_get(shown, "failing_since")),
                  time(NULL) - 5 * 86400);
    cr_assert(stack_wait(is_named, &webhook, SOON_MS));
    publish_ticket(&org, "ticket.created", "T-1");
    receiver_await(receiver, "/ok", 1, SOON_MS);
    webhook_await(&org, &webhook, 1, SOON_MS);
    cr_assert(json_is_null(json_object_get(webhook_shown(&org, &webhook), "failing_since")));
}

Test(webhook_log, a_deleted_endpoint_gets_nothing_and_leaves_its_log)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;
    const json_t *gone;
    char code[64];

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &webhook);
    publish_ticket(&org, "ticket.created", "T-1");
    webhook_await(&org, &webhook, 1, SOON_MS);
    gone = never_free(convctl("webhook", "delete", "--org", org.id, webhook.id, NULL));
    cr_assert(json_is_true(json_object_get(gone, "deleted")));
    publish_ticket(&org, "ticket.created", "T-2");
    cr_assert_eq(convctl_fails(code, "webhook", "delete", "--org", org.id, webhook.id, NULL), 1);
    cr_assert_str_eq(code, "not_found");
    cr_assert_eq(convctl_fails(code, "webhook", "resend", "--org", org.id,
                               text_of(webhook_delivery(&org, &webhook, 0), "id"), NULL),
                 1);
    cr_assert_eq(json_array_size(never_free(convctl("webhook", "list", "--org", org.id, NULL))), 0);
    cr_assert_eq(receiver_count(receiver, "/ok"), 1);
}

/* Begins a statement that inserts a delivery of event $3 into the queue; its claim follows. */
#define QUEUE_ROW                                                                                  \
    "WITH made AS (INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id,"         \
    " event_type, cause, created_at, lease_until, fence, worker) SELECT $1::uuid, $2::uuid,"       \
    " webhook.id_at(at), $3::uuid, 'ticket.created', 'event', at, "

Test(webhook_log, a_claim_that_is_not_attempted_is_handed_back_and_sent_once)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook, slow;
    const char *event;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &webhook);
    webhook_new(&org, receiver_url(receiver, "/slow/7000"), "ticket.resolved", &slow);
    event = publish_ticket(&org, "ticket.created", "T-1");
    receiver_await(receiver, "/ok", 1, SOON_MS);
    publish_ticket(&org, "ticket.resolved", "T-1");
    receiver_await(receiver, "/slow", 1, SOON_MS);
    /* As if the worker had claimed the row and the database's answer had been lost. */
    sql_text(QUEUE_ROW "clock_timestamp() + interval '60 s', nextval('webhook.fence'), w.worker"
                       " FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS at) AS a,"
                       "      (SELECT worker FROM webhook.queue WHERE endpoint_id = $4::uuid) AS w"
                       " RETURNING id) SELECT count(*) FROM made",
             org.id, webhook.id, event + 4, slow.id, NULL);
    webhook_await(&org, &webhook, 2, SOON_MS);
    cr_assert_eq(receiver_count(receiver, "/ok"), 2);
    cr_assert_str_eq(text_of(webhook_delivery(&org, &webhook, 0), "state"), "succeeded");
    cr_assert(json_is_null(json_object_get(webhook_delivery(&org, &webhook, 0), "previous_id")));
}

Test(webhook_log, a_delivery_whose_event_is_gone_reports_that)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &webhook);
    sql_text(QUEUE_ROW "NULL, NULL, NULL"
                       " FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS at) AS a"
                       " RETURNING id), marked AS (UPDATE webhook.progress SET waits_from ="
                       " (SELECT id FROM made), version = nextval('webhook.version')"
                       " WHERE id = $2::uuid) SELECT count(*) FROM made",
             org.id, webhook.id, org.id, NULL);
    webhook_await(&org, &webhook, 1, SOON_MS);
    cr_assert_str_eq(text_of(webhook_delivery(&org, &webhook, 0), "state"), "failed");
    cr_assert_str_eq(text_of(webhook_delivery(&org, &webhook, 0), "error"), "expired");
    cr_assert_eq(receiver_count(receiver, "/"), 0);
}

Test(webhook_log, lists_continue_in_another_message_if_one_is_full)
{
    enum { ENDPOINTS = 600, DELIVERIES = 300 };
    struct org org;
    struct webhook webhook;
    const json_t *all;

    org_new(&org);
    webhook_new(&org, "https://127.0.0.1:1024/", "ticket.created", &webhook);
    sql_text(
        "WITH made AS (INSERT INTO webhook.endpoints (organization_id, id, url, events,"
        " signing, secret) SELECT $1::uuid, webhook.id_at(now()), repeat('x', 2000), ARRAY['t'],"
        " true, '' FROM generate_series(2, $2::int) RETURNING id) SELECT count(*) FROM made",
        org.id, format("%d", ENDPOINTS), NULL);
    sql_text(
        "WITH made AS (INSERT INTO webhook.deliveries (organization_id, created_at, id,"
        " endpoint_id, event_id, event_type, cause, state, finished_at, excerpt)"
        " SELECT $1::uuid, at, webhook.id_at(at), $2::uuid, $2::uuid, 't', 'event', 'succeeded',"
        "        now(), repeat('x', 4096) FROM generate_series(1, $3::int) i,"
        " LATERAL (SELECT date_trunc('milliseconds', now()) - i / 2 * interval '1 ms' AS at) a"
        " RETURNING id) SELECT count(*) FROM made",
        org.id, webhook.id, format("%d", DELIVERIES), NULL);
    cr_assert_eq(json_array_size(never_free(convctl("webhook", "list", "--org", org.id, NULL))),
                 ENDPOINTS);
    all = never_free(
        convctl("webhook", "deliveries", "--org", org.id, webhook.id, "--limit", "1000", NULL));
    cr_assert_eq(json_array_size(all), DELIVERIES);
    for (size_t i = 1; i < DELIVERIES; i++)
        cr_assert_lt(strcmp(text_of(json_array_get(all, i), "id"),
                            text_of(json_array_get(all, i - 1), "id")),
                     0, "%zu", i);
    all = never_free(
        convctl("webhook", "deliveries", "--org", org.id, webhook.id, "--limit", "250", NULL));
    cr_assert_eq(json_array_size(all), 250);
    never_free(convctl("webhook", "delete", "--org", org.id, webhook.id, NULL));
    all = never_free(
        convctl("webhook", "deliveries", "--org", org.id, webhook.id, "--limit", "1000", NULL));
    cr_assert_eq(json_array_size(all), DELIVERIES);
    all = never_free(convctl("webhook", "deliveries", "--org", org.id, webhook.id, NULL));
    cr_assert_eq(json_array_size(all), 50);
}

/* Repeated, since the service may be doing the same at this moment. */
static bool is_dropped(void *closure)
{
    sql_integer("SELECT dropped FROM webhook.keep_partitions()", NULL);
    return sql_text("SELECT to_regclass($1)::text", closure, NULL) == NULL;
}

Test(webhook_log, the_log_has_a_partition_for_each_day_and_lasts_30)
{
    static char old[] = "webhook.deliveries_2001_02_03";

    sql_text("SELECT webhook.make_partition('2001-02-03 00:00:00+00')", NULL);
    cr_assert(stack_wait(is_dropped, old, 30000));
    cr_assert_geq(sql_integer("SELECT count(*) FROM pg_inherits WHERE inhparent ="
                              " 'webhook.deliveries'::regclass",
                              NULL),
                  4);
    cr_assert_eq(sql_integer("SELECT count(*) FROM webhook.deliveries_default", NULL), 0);
}

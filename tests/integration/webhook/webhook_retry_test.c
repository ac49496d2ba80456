/* Failed deliveries are retried only at endpoints where an operator has enabled it. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/never_free.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

TestSuite(webhook_retry, .init = stack_share);

enum { SOON_MS = 30000 };

static void retried_webhook_new(const struct org *org, const char *url, struct webhook *webhook)
{
    webhook_new(org, url, "ticket.created", webhook);
    never_free(
        convctl("webhook", "set", "--org", org->id, webhook->id, "--retries", "standard", NULL));
}

static int64_t shown_number(const struct org *org, const struct webhook *webhook, const char *name)
{
    return json_integer_value(json_object_get(webhook_shown(org, webhook), name));
}

static int64_t waiting(const struct org *org)
{
    return sql_integer("SELECT count(*) FROM webhook.retries WHERE organization_id = $1::uuid",
                       org->id, NULL);
}

/* Makes all waiting retries of the organization due now, since the schedule takes hours. Takes the
   lock that senders take to move such rows. */
static void let_be_due(const struct org *org)
{
    sql_text("WITH locked AS MATERIALIZED ("
             "  SELECT webhook.lock_queue()),"
             " due AS (UPDATE webhook.retries SET due_at = clock_timestamp() FROM locked"
             "          WHERE organization_id = $1::uuid),"
             " turns AS (UPDATE webhook.progress SET retry_at = now(), retries_from = now(),"
             "            version = nextval('webhook.version') FROM locked"
             "            WHERE organization_id = $1::uuid AND retries_waiting > 0)"
             " SELECT count(*) FROM locked",
             org->id, NULL);
}

static void answer_at(const struct webhook *webhook, const char *url)
{
    sql_text("UPDATE webhook.endpoints SET url = $2 WHERE id = $1::uuid RETURNING id", webhook->id,
             url, NULL);
}

Test(webhook_retry, nothing_is_retried_by_default)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/status/500"), "ticket.created", &webhook);
    publish_ticket(&org, "ticket.created", "T-1");
    webhook_await(&org, &webhook, 1, SOON_MS);
    cr_assert_str_eq(text_of(webhook_shown(&org, &webhook), "retries"), "none");
    cr_assert_eq(waiting(&org), 0);
    cr_assert(json_is_null(json_object_get(webhook_delivery(&org, &webhook, 0), "retry_at")));
}

/* This first retry waits for its real time. */
Test(webhook_retry, a_failure_comes_again_as_the_same_event_and_another_delivery)
{
    struct receiver *receiver = receiver_start("good");
    const struct received *first, *second;
    const json_t *failed, *again;
    struct org org;
    struct webhook webhook;

    org_new(&org);
    retried_webhook_new(&org, receiver_url(receiver, "/status/503"), &webhook);
    publish_ticket(&org, "ticket.created", "T-1");
    webhook_await(&org, &webhook, 1, SOON_MS);
    failed = webhook_delivery(&org, &webhook, 0);
    cr_expect_eq(json_integer_value(json_object_get(failed, "retry")), 0);
    cr_expect_gt(json_integer_value(json_object_get(failed, "retry_at")),
                 json_integer_value(json_object_get(failed, "finished_at")) + 3);
    cr_expect_eq(shown_number(&org, &webhook, "retries_waiting"), 1);

    receiver_await(receiver, "/status", 2, SOON_MS);
    first = receiver_get(receiver, "/status", 0);
    second = receiver_get(receiver, "/status", 1);
    cr_assert_geq(second->at_us - first->at_us, 5 * INT64_C(1000000));
    cr_assert_str_eq(first->body, second->body);
    cr_assert_str_neq(first->delivery, second->delivery);
    cr_assert_str_eq(second->signature, signature_of(webhook.secret, second));

    webhook_await(&org, &webhook, 2, SOON_MS);
    again = webhook_delivery(&org, &webhook, 0);
    cr_assert_str_eq(text_of(again, "id"), second->delivery);
    cr_assert_str_eq(text_of(again, "cause"), "retry");
    cr_assert_eq(json_integer_value(json_object_get(again, "retry")), 1);
    cr_assert_str_eq(text_of(again, "previous_id"), text_of(failed, "id"));
    cr_assert(json_is_null(json_object_get(webhook_delivery(&org, &webhook, 1), "retry_at")));
}

Test(webhook_retry, six_retries_count_as_attempts_and_are_the_last)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;

    org_new(&org);
    retried_webhook_new(&org, receiver_url(receiver, "/status/503"), &webhook);
    publish_ticket(&org, "ticket.created", "T-1");
    for (int i = 1; i <= 7; i++) {
        webhook_await(&org, &webhook, i, SOON_MS);
        cr_expect_eq(waiting(&org), i < 7 ? 1 : 0, "after %d attempts", i);
        let_be_due(&org);
    }
    cr_expect_eq(receiver_count(receiver, "/status"), 7);
    cr_expect_eq(shown_number(&org, &webhook, "attempts"), 7);
    cr_expect_eq(shown_number(&org, &webhook, "consecutive_failures"), 7);
    cr_expect_str_eq(text_of(webhook_shown(&org, &webhook), "health"), "failing");
    cr_expect(json_is_true(json_object_get(webhook_shown(&org, &webhook), "enabled")));
    cr_expect_eq(sql_integer("SELECT sum(failed) FROM webhook.statistics"
                             " WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 7);
}

Test(webhook_retry, a_success_ends_it)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;

    org_new(&org);
    retried_webhook_new(&org, receiver_url(receiver, "/status/503"), &webhook);
    publish_ticket(&org, "ticket.created", "T-1");
    webhook_await(&org, &webhook, 1, SOON_MS);
    answer_at(&webhook, receiver_url(receiver, "/ok"));
    let_be_due(&org);
    webhook_await(&org, &webhook, 2, SOON_MS);
    cr_assert_eq(receiver_count(receiver, "/ok"), 1);
    cr_assert_eq(waiting(&org), 0);
    cr_assert_eq(shown_number(&org, &webhook, "retries_waiting"), 0);
}

Test(webhook_retry, waiting_ones_are_dropped_when_retries_are_disabled)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;
    char code[64];

    org_new(&org);
    retried_webhook_new(&org, receiver_url(receiver, "/status/503"), &webhook);
    publish_ticket(&org, "ticket.created", "T-1");
    webhook_await(&org, &webhook, 1, SOON_MS);
    cr_assert_eq(waiting(&org), 1);
    never_free(convctl("webhook", "set", "--org", org.id, webhook.id, "--retries", "none", NULL));
    cr_assert_eq(waiting(&org), 0);
    cr_assert_eq(convctl_fails(code, "webhook", "set", "--org", org.id, webhook.id, NULL), 2);
    cr_assert_eq(convctl_fails(code, "webhook", "set", "--org", org.id, webhook.id, "--retries",
                               "daily", NULL),
                 2);

    never_free(
        convctl("webhook", "set", "--org", org.id, webhook.id, "--retries", "standard", NULL));
    publish_ticket(&org, "ticket.created", "T-2");
    webhook_await(&org, &webhook, 2, SOON_MS);
    cr_assert_eq(waiting(&org), 1);
    never_free(convctl("webhook", "delete", "--org", org.id, webhook.id, NULL));
    cr_assert_eq(waiting(&org), 0);
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.changes WHERE organization_id = $1::uuid"
                             " AND change = 'endpoint.set' AND detail->>'retries' = 'standard'",
                             org.id, NULL),
                 2);
}

/* Two senders and many retries that are due at the same moment: each is sent once. */
Test(webhook_retry, replicas_never_make_two_of_one)
{
    enum { EVENTS = 60 };
    struct receiver *receiver = receiver_start("good");
    struct replica replica = {0};
    struct org org;
    struct webhook webhook;

    org_new(&org);
    retried_webhook_new(&org, receiver_url(receiver, "/status/503"), &webhook);
    for (int i = 0; i < EVENTS; i++)
        publish_ticket(&org, "ticket.created", format("T-%d", i));
    webhook_await(&org, &webhook, EVENTS, 2 * SOON_MS);
    replica_start_of(&replica, "webhook", (const char *const[]){NULL});
    let_be_due(&org);
    answer_at(&webhook, receiver_url(receiver, "/ok"));
    receiver_await(receiver, "/ok", 1, SOON_MS);
    let_be_due(&org);
    cr_assert_eq(sql_integer("SELECT count(DISTINCT event_id) FROM webhook.deliveries"
                             " WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 EVENTS);
    while (
        sql_integer("SELECT (SELECT count(*) FROM webhook.queue WHERE organization_id = $1::uuid)"
                    "     + (SELECT count(*) FROM webhook.retries"
                    "         WHERE organization_id = $1::uuid)",
                    org.id, NULL) > 0)
        let_be_due(&org);
    replica_stop(&replica);
    cr_assert_eq(receiver_count(receiver, "/ok"), EVENTS);
    cr_assert_eq(sql_integer("SELECT count(*) FROM (SELECT event_id FROM webhook.deliveries"
                             " WHERE organization_id = $1::uuid AND state = 'succeeded'"
                             " GROUP BY event_id HAVING count(*) = 1) AS once",
                             org.id, NULL),
                 EVENTS);
}

/* Counted, not timed: when the other endpoint's event arrives, less than half of the retries are
   done. */
Test(webhook_retry, an_endpoint_that_always_fails_takes_nothing_from_others)
{
    enum { RETRIES = 3000 };
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook failing, healthy;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.resolved", &healthy);
    webhook_new(&org, receiver_url(receiver, "/status/500"), "ticket.created", &failing);
    sql_text(
        "WITH locked AS MATERIALIZED ("
        "  SELECT webhook.lock_queue()),"
        " made AS (INSERT INTO webhook.events (organization_id, id, type, data, created_at,"
        "   dispatched) SELECT $1::uuid, gen_random_uuid(), 'ticket.created', '{}', now(), true"
        "   FROM locked, generate_series(1, $3::int) RETURNING id),"
        " wait AS (INSERT INTO webhook.retries SELECT $1::uuid, $2::uuid, id, 'ticket.created',"
        "   id, 1, now() FROM made),"
        " scheduled AS (UPDATE webhook.endpoints SET retry_schedule = 'standard' WHERE id = "
        "$2::uuid),"
        " turn AS (UPDATE webhook.progress SET retry_at = now(), retries_from = now(),"
        "   retries_waiting = $3::int, version = nextval('webhook.version') WHERE id = $2::uuid)"
        " SELECT count(*) FROM made",
        org.id, failing.id, format("%d", RETRIES), NULL);
    receiver_await(receiver, "/status", 5, SOON_MS);
    publish_ticket(&org, "ticket.resolved", "T-1");
    receiver_await(receiver, "/ok", 1, SOON_MS);
    cr_assert_lt(receiver_count(receiver, "/status"), (size_t)RETRIES / 2);
    never_free(convctl("webhook", "delete", "--org", org.id, failing.id, NULL));
}

/* What reaches a receiver, and what operators see of it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/hooks.h"
#include "tests/support/keep.h"
#include "tests/support/sql.h"

TestSuite(webhook_deliver, .init = api_open, .timeout = 60);

enum { SOON_MS = 5000 };

static json_t *parsed(const struct received *received)
{
    json_t *body = keep(json_loads(received->body, 0, NULL));

    cr_assert_not_null(body, "%s", received->body);
    return body;
}

Test(webhook_deliver, a_created_conversation_is_announced_as_the_contract_says)
{
    struct receiver *receiver = receiver_start("good");
    const struct received *got;
    struct org org;
    struct hook hook;
    const json_t *body, *data;
    const char *id;

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/ok"), "conversation.created", &hook);
    cr_assert_eq(strncmp(hook.secret, "whsec_", 6), 0);
    id = new_conversation(&org, "c-1", "u-1");
    receiver_await(receiver, "/ok", 1, SOON_MS);
    got = receiver_get(receiver, "/ok", 0);

    body = parsed(got);
    expect_members(body, "id type created_at data");
    cr_assert_str_eq(text_of(body, "type"), "conversation.created");
    cr_assert_eq(strlen(text_of(body, "id")), 36);
    cr_assert_eq(strncmp(text_of(body, "id"), "evt_", 4), 0);
    cr_assert_eq(strspn(text_of(body, "id") + 4, "0123456789abcdef"), 32);
    cr_assert(json_is_integer(json_object_get(body, "created_at")));
    data = json_object_get(body, "data");
    expect_members(data, "id channel status");
    cr_assert_str_eq(text_of(data, "id"), id);
    cr_assert_str_eq(text_of(data, "channel"), "api");
    cr_assert_str_eq(text_of(data, "status"), "active");

    cr_assert_str_eq(got->event, "conversation.created");
    cr_assert_str_eq(got->type, "application/json");
    expect_uuid(got->delivery);
    cr_assert_leq(labs(atol(got->timestamp) - (long)time(NULL)), 5);
    cr_assert_str_eq(got->signature, signature_of(hook.secret, got));
}

Test(webhook_deliver, a_replay_announces_nothing)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct hook hook;

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/ok"), "conversation.created", &hook);
    new_conversation(&org, "c-1", "u-1");
    expect_status(
        api_create(org.full_key, "{\"external_id\":\"c-1\",\"from\":{\"external_id\":\"u-1\"}}"),
        200);
    new_conversation(&org, "c-2", "u-1");
    hook_await(&org, &hook, 2, SOON_MS);
    cr_assert_eq(sql_integer("SELECT count(*) FROM webhook.events WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 2);
}

Test(webhook_deliver, web_chat_announces_and_other_channels_do_not)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct hook hook;
    const json_t *body;

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/ok"), "conversation.created", &hook);
    keep(convctl("conversation", "open", "--org", org.id, "--channel", "email", NULL));
    keep(convctl("conversation", "open", "--org", org.id, "--channel", "widget", NULL));
    receiver_await(receiver, "/ok", 1, SOON_MS);
    body = parsed(receiver_get(receiver, "/ok", 0));
    cr_assert_str_eq(text_of(json_object_get(body, "data"), "channel"), "widget");
    hook_await(&org, &hook, 1, SOON_MS);
    cr_assert_eq(receiver_count(receiver, "/ok"), 1);
}

Test(webhook_deliver, an_operators_takeover_and_events_of_neighbours_arrive)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct hook handoff, created, resolved;
    const json_t *opened, *data;

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/ok/handoff"), "ai.handoff", &handoff);
    hook_new(&org, receiver_url(receiver, "/ok/created"), "ticket.created", &created);
    hook_new(&org, receiver_url(receiver, "/ok/resolved"), "ticket.resolved", &resolved);

    opened = keep(convctl("conversation", "open", "--org", org.id, "--channel", "widget", NULL));
    keep(convctl("conversation", "set-status", "--org", org.id, text_of(opened, "id"),
                 "human_takeover", NULL));
    publish_ticket(&org, "ticket.created", "T-1");
    publish_ticket(&org, "ticket.resolved", "T-1");

    receiver_await(receiver, "/ok/handoff", 1, SOON_MS);
    data = json_object_get(parsed(receiver_get(receiver, "/ok/handoff", 0)), "data");
    expect_members(data, "id channel status");
    cr_assert_str_eq(text_of(data, "id"), text_of(opened, "id"));
    cr_assert_str_eq(text_of(data, "status"), "human_takeover");
    receiver_await(receiver, "/ok/created", 1, SOON_MS);
    data = json_object_get(parsed(receiver_get(receiver, "/ok/created", 0)), "data");
    expect_members(data, "id conversation_id status");
    cr_assert(json_is_null(json_object_get(data, "conversation_id")));
    receiver_await(receiver, "/ok/resolved", 1, SOON_MS);
    cr_assert_eq(receiver_count(receiver, "/ok"), 3);
}

Test(webhook_deliver, without_signing_there_is_no_signature)
{
    struct receiver *receiver = receiver_start("good");
    const struct received *got;
    struct org org;

    org_new(&org);
    keep(convctl("webhook", "create", "--org", org.id, "--url", receiver_url(receiver, "/ok"),
                 "--event", "ticket.created", "--no-signing", NULL));
    publish_ticket(&org, "ticket.created", "T-1");
    receiver_await(receiver, "/ok", 1, SOON_MS);
    got = receiver_get(receiver, "/ok", 0);
    cr_assert_str_eq(got->signature, "");
    cr_assert_str_eq(got->timestamp, "");
    expect_uuid(got->delivery);
}

Test(webhook_deliver, the_secret_is_shown_once_and_stored_sealed)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct hook hook;

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &hook);
    cr_assert_null(json_object_get(hook_shown(&org, &hook), "secret"));
    cr_assert_eq(sql_integer("SELECT count(*) FROM webhook.endpoints"
                             " WHERE position(convert_to($1, 'UTF8') IN secret) > 0",
                             hook.secret + 6, NULL),
                 0);
}

Test(webhook_deliver, a_secret_moved_to_another_endpoint_signs_nothing)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct hook one, other;

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/ok/one"), "ticket.created", &one);
    hook_new(&org, receiver_url(receiver, "/ok/other"), "ticket.resolved", &other);
    sql_text("UPDATE webhook.endpoints SET secret = (SELECT secret FROM webhook.endpoints"
             " WHERE id = $1::uuid) WHERE id = $2::uuid RETURNING id",
             one.id, other.id, NULL);
    cr_assert_str_eq(text_of(hook_test(&org, &other), "error"), "internal");
    cr_assert_eq(receiver_count(receiver, "/ok/other"), 0);
}

Test(webhook_deliver, what_a_disabled_endpoint_misses_is_kept_and_can_be_sent_later)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct hook hook;
    const json_t *delivery;
    const char *event;
    char code[64];

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &hook);
    keep(convctl("webhook", "set", "--org", org.id, hook.id, "--enabled", "false", NULL));
    event = publish_ticket(&org, "ticket.created", "T-1");
    hook_await(&org, &hook, 1, SOON_MS);
    delivery = hook_delivery(&org, &hook, 0);
    cr_assert_str_eq(text_of(delivery, "state"), "skipped");
    cr_assert_str_eq(text_of(delivery, "error"), "endpoint_disabled");
    cr_assert_str_eq(text_of(delivery, "event_id"), event);
    cr_assert_eq(
        convctl_fails(code, "webhook", "resend", "--org", org.id, text_of(delivery, "id"), NULL),
        1);
    cr_assert_str_eq(code, "conflict");

    keep(convctl("webhook", "set", "--org", org.id, hook.id, "--enabled", "true", NULL));
    keep(convctl("webhook", "resend", "--org", org.id, text_of(delivery, "id"), NULL));
    receiver_await(receiver, "/ok", 1, SOON_MS);
    cr_assert_str_eq(receiver_get(receiver, "/ok", 0)->event_id, event);
    hook_await(&org, &hook, 2, SOON_MS);
    cr_assert_str_eq(text_of(hook_delivery(&org, &hook, 0), "previous_id"),
                     text_of(delivery, "id"));
    cr_assert_str_eq(text_of(hook_delivery(&org, &hook, 0), "cause"), "resend");
}

Test(webhook_deliver, all_that_failed_since_a_time_is_sent_once_more)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct hook hook;
    const json_t *told;

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/status/500"), "ticket.created", &hook);
    for (int i = 0; i < 5; i++)
        publish_ticket(&org, "ticket.created", format("T-%d", i));
    hook_await(&org, &hook, 5, SOON_MS);
    sql_text("UPDATE webhook.endpoints SET url = $2 WHERE id = $1::uuid RETURNING id", hook.id,
             receiver_url(receiver, "/ok"), NULL);
    publish_ticket(&org, "ticket.created", "T-fine");
    hook_await(&org, &hook, 6, SOON_MS);

    told =
        keep(convctl("webhook", "resend-failed", "--org", org.id, hook.id, "--since", "0", NULL));
    cr_assert_eq(json_integer_value(json_object_get(told, "resent")), 5);
    hook_await(&org, &hook, 11, SOON_MS);
    cr_assert_eq(receiver_count(receiver, "/ok"), 6);
    told =
        keep(convctl("webhook", "resend-failed", "--org", org.id, hook.id, "--since", "0", NULL));
    cr_assert_eq(json_integer_value(json_object_get(told, "resent")), 0);
    told = keep(convctl("webhook", "resend-failed", "--org", org.id, hook.id, "--since",
                        "2000000000", NULL));
    cr_assert_eq(json_integer_value(json_object_get(told, "resent")), 0);
}

Test(webhook_deliver, an_event_resent_keeps_its_id_and_bytes)
{
    struct receiver *receiver = receiver_start("good");
    const struct received *first, *second;
    struct org org;
    struct hook hook;

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/ok"), "conversation.created", &hook);
    new_conversation(&org, "c", "u");
    hook_await(&org, &hook, 1, SOON_MS);
    keep(convctl("webhook", "resend", "--org", org.id, text_of(hook_delivery(&org, &hook, 0), "id"),
                 NULL));
    receiver_await(receiver, "/ok", 2, SOON_MS);
    first = receiver_get(receiver, "/ok", 0);
    second = receiver_get(receiver, "/ok", 1);
    cr_assert_str_eq(first->body, second->body);
    cr_assert_str_neq(first->delivery, second->delivery);
}

Test(webhook_deliver, health_follows_consecutive_failures)
{
    static const char *const healths[] = {"healthy",  "healthy", "degraded", "degraded",
                                          "degraded", "failing", "failing"};
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct hook hook;
    const json_t *shown;

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/status/503"), "ticket.created", &hook);
    for (int failures = 0; failures < 7; failures++) {
        shown = hook_shown(&org, &hook);
        cr_assert_str_eq(text_of(shown, "health"), healths[failures], "after %d failures",
                         failures);
        cr_assert_eq(json_integer_value(json_object_get(shown, "attempts")), failures);
        cr_assert_str_eq(text_of(shown, "last_error"), failures == 0 ? "" : "http_5xx");
        hook_test(&org, &hook);
    }
    sql_text("UPDATE webhook.endpoints SET url = $2 WHERE id = $1::uuid RETURNING id", hook.id,
             receiver_url(receiver, "/status/204"), NULL);
    hook_test(&org, &hook);
    shown = hook_shown(&org, &hook);
    cr_assert_str_eq(text_of(shown, "health"), "healthy");
    cr_assert_eq(json_integer_value(json_object_get(shown, "attempts")), 8);
    cr_assert_str_eq(text_of(shown, "last_error"), "http_5xx");
    cr_assert_eq(json_integer_value(json_object_get(shown, "last_http_status")), 503);
}

Test(webhook_deliver, an_endpoint_made_after_an_event_does_not_get_it)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct hook early, late;

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/ok/early"), "ticket.created", &early);
    publish_ticket(&org, "ticket.created", "T-1");
    hook_new(&org, receiver_url(receiver, "/ok/late"), "ticket.created", &late);
    publish_ticket(&org, "ticket.created", "T-2");
    receiver_await(receiver, "/ok/early", 2, SOON_MS);
    hook_await(&org, &late, 1, SOON_MS);
    cr_assert_eq(receiver_count(receiver, "/ok/late"), 1);
}

Test(webhook_deliver, a_deleted_endpoint_gets_nothing_and_leaves_its_log)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct hook hook;
    const json_t *gone;
    char code[64];

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &hook);
    publish_ticket(&org, "ticket.created", "T-1");
    hook_await(&org, &hook, 1, SOON_MS);
    gone = keep(convctl("webhook", "delete", "--org", org.id, hook.id, NULL));
    cr_assert(json_is_true(json_object_get(gone, "deleted")));
    publish_ticket(&org, "ticket.created", "T-2");
    cr_assert_eq(convctl_fails(code, "webhook", "delete", "--org", org.id, hook.id, NULL), 1);
    cr_assert_str_eq(code, "not_found");
    cr_assert_eq(convctl_fails(code, "webhook", "resend", "--org", org.id,
                               text_of(hook_delivery(&org, &hook, 0), "id"), NULL),
                 1);
    cr_assert_eq(json_array_size(keep(convctl("webhook", "list", "--org", org.id, NULL))), 0);
    cr_assert_eq(receiver_count(receiver, "/ok"), 1);
}

Test(webhook_deliver, nothing_of_one_organization_reaches_another)
{
    struct receiver *receiver = receiver_start("good");
    struct org org, other;
    struct hook hook;
    const json_t *delivery;
    char code[64];

    org_new(&org);
    org_new(&other);
    hook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &hook);
    publish_ticket(&other, "ticket.created", "T-1");
    delivery = hook_test(&org, &hook);
    cr_assert_eq(receiver_count(receiver, "/ok"), 1);
    cr_assert_eq(
        convctl_fails(code, "webhook", "resend", "--org", other.id, text_of(delivery, "id"), NULL),
        1);
    cr_assert_str_eq(code, "not_found");
    cr_assert_eq(convctl_fails(code, "webhook", "deliveries", "--org", other.id, hook.id, NULL), 1);
    cr_assert_eq(convctl_fails(code, "webhook", "test", "--org", other.id, hook.id, NULL), 1);
    cr_assert_eq(convctl_fails(code, "webhook", "delete", "--org", other.id, hook.id, NULL), 1);
}

Test(webhook_deliver, malformed_events_of_neighbours_are_refused)
{
    static const char *const bad[][2] = {
        {"conversation.created", "{\"id\":\"x\",\"channel\":\"api\",\"status\":\"active\"}"},
        {"ticket.deleted", "{\"id\":\"x\",\"status\":\"open\"}"},
        {"ticket.created", "{\"status\":\"open\"}"},
        {"ticket.created", "{\"id\":\"x\"}"},
        {"ticket.created", "{\"id\":1,\"status\":\"open\"}"},
        {"ticket.created", "{\"id\":\"x\",\"status\":\"open\",\"secret\":1}"},
        {"ticket.created", "{\"id\":\"x\",\"status\":\"open\",\"conversation_id\":\"y\"}"},
        {"ticket.created", "[]"},
        {"ticket.created", "null"},
        {"ai.handoff", "{\"id\":\"x\",\"channel\":\"api\",\"status\":\"open\"}"},
    };
    struct org org;
    char code[64];

    org_new(&org);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert_eq(convctl_fails(code, "event", "publish", "--org", org.id, "--type", bad[i][0],
                                   "--data", bad[i][1], NULL),
                     1, "%s %s", bad[i][0], bad[i][1]);
    cr_assert_eq(sql_integer("SELECT count(*) FROM webhook.events WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 0);
}

/* A row of the queue for one of the organization's events; which, says the rest of the statement.
 */
#define QUEUE_ROW                                                                                  \
    "WITH made AS (INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id,"         \
    " event_type, cause, created_at, lease_until, fence, worker) SELECT $1::uuid, $2::uuid,"       \
    " webhook.id_at(at), $3::uuid, 'ticket.created', 'event', at, "

Test(webhook_deliver, a_claim_that_is_not_attempted_is_handed_back_and_sent_once)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct hook hook, slow;
    const char *event;

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &hook);
    hook_new(&org, receiver_url(receiver, "/slow/4000"), "ticket.resolved", &slow);
    event = publish_ticket(&org, "ticket.created", "T-1");
    receiver_await(receiver, "/ok", 1, SOON_MS);
    publish_ticket(&org, "ticket.resolved", "T-1");
    receiver_await(receiver, "/slow", 1, SOON_MS);
    /* As if the worker had claimed it and the answer had been lost. */
    sql_text(QUEUE_ROW "clock_timestamp() + interval '60 s', nextval('webhook.fence'), w.worker"
                       " FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS at) AS a,"
                       "      (SELECT worker FROM webhook.queue WHERE endpoint_id = $4::uuid) AS w"
                       " RETURNING id) SELECT count(*) FROM made",
             org.id, hook.id, event + 4, slow.id, NULL);
    hook_await(&org, &hook, 2, SOON_MS);
    cr_assert_eq(receiver_count(receiver, "/ok"), 2);
    cr_assert_str_eq(text_of(hook_delivery(&org, &hook, 0), "state"), "succeeded");
    cr_assert(json_is_null(json_object_get(hook_delivery(&org, &hook, 0), "previous_id")));
}

Test(webhook_deliver, a_delivery_whose_event_is_gone_says_so)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct hook hook;

    org_new(&org);
    hook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &hook);
    sql_text(QUEUE_ROW "NULL, NULL, NULL"
                       " FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS at) AS a"
                       " RETURNING id), marked AS (UPDATE webhook.endpoints SET has_work = true"
                       " WHERE id = $2::uuid) SELECT count(*) FROM made",
             org.id, hook.id, org.id, NULL);
    hook_await(&org, &hook, 1, SOON_MS);
    cr_assert_str_eq(text_of(hook_delivery(&org, &hook, 0), "state"), "failed");
    cr_assert_str_eq(text_of(hook_delivery(&org, &hook, 0), "error"), "expired");
    cr_assert_eq(receiver_count(receiver, "/"), 0);
}

Test(webhook_deliver, lists_go_on_where_a_message_is_full)
{
    enum { ENDPOINTS = 600, DELIVERIES = 300 };
    struct org org;
    struct hook hook;
    const json_t *all;

    org_new(&org);
    hook_new(&org, "https://127.0.0.1:1024/", "ticket.created", &hook);
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
        org.id, hook.id, format("%d", DELIVERIES), NULL);
    cr_assert_eq(json_array_size(keep(convctl("webhook", "list", "--org", org.id, NULL))),
                 ENDPOINTS);
    all = keep(convctl("webhook", "deliveries", "--org", org.id, hook.id, "--limit", "1000", NULL));
    cr_assert_eq(json_array_size(all), DELIVERIES);
    for (size_t i = 1; i < DELIVERIES; i++)
        cr_assert_lt(strcmp(text_of(json_array_get(all, i), "id"),
                            text_of(json_array_get(all, i - 1), "id")),
                     0, "%zu", i);
    all = keep(convctl("webhook", "deliveries", "--org", org.id, hook.id, "--limit", "250", NULL));
    cr_assert_eq(json_array_size(all), 250);
    keep(convctl("webhook", "delete", "--org", org.id, hook.id, NULL));
    all = keep(convctl("webhook", "deliveries", "--org", org.id, hook.id, "--limit", "1000", NULL));
    cr_assert_eq(json_array_size(all), DELIVERIES);
    all = keep(convctl("webhook", "deliveries", "--org", org.id, hook.id, NULL));
    cr_assert_eq(json_array_size(all), 50);
}

Test(webhook_deliver, roles_may_do_no_more_than_their_work)
{
    static const struct {
        const char *role, *text;
    } refused[] = {
        {"conv_webhook", "UPDATE webhook.deliveries SET state = 'succeeded'"},
        {"conv_webhook", "DELETE FROM webhook.deliveries"},
        {"conv_webhook", "TRUNCATE webhook.deliveries"},
        {"conv_webhook", "UPDATE webhook.events SET data = '{}'"},
        {"conv_webhook", "DELETE FROM webhook.events"},
        {"conv_webhook", "SELECT webhook.make_partition(now())"},
        {"conv_webhook", "SELECT * FROM conversation.conversations"},
        {"conv_webhook", "SELECT * FROM access.api_keys"},
        {"conv_conversation", "SELECT * FROM webhook.events"},
        {"conv_conversation", "SELECT * FROM webhook.endpoints"},
        {"conv_conversation", "INSERT INTO webhook.queue DEFAULT VALUES"},
        {"conv_access", "SELECT * FROM webhook.endpoints"},
        {"conv_search", "SELECT * FROM webhook.events"},
        {"conv_audit", "SELECT * FROM webhook.deliveries"},
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        cr_expect_str_eq(sql_state_as(refused[i].role, refused[i].text), "42501", "%s: %s",
                         refused[i].role, refused[i].text);
    cr_expect_str_eq(sql_state_as("conv_webhook", "SELECT webhook.keep_partitions()"), "00000");
}

/* The service may be at it itself at this moment. */
static bool is_dropped(void *closure)
{
    sql_integer("SELECT dropped FROM webhook.keep_partitions()", NULL);
    return sql_text("SELECT to_regclass($1)::text", closure, NULL) == NULL;
}

Test(webhook_deliver, the_log_has_a_partition_for_each_day_and_lasts_30)
{
    static char old[] = "webhook.deliveries_2001_02_03";

    sql_text("SELECT webhook.make_partition('2001-02-03 00:00:00+00')", NULL);
    cr_assert(stack_wait(is_dropped, old, 10000));
    cr_assert_geq(sql_integer("SELECT count(*) FROM pg_inherits WHERE inhparent ="
                              " 'webhook.deliveries'::regclass",
                              NULL),
                  4);
    cr_assert_eq(sql_integer("SELECT count(*) FROM webhook.deliveries_default", NULL), 0);
}

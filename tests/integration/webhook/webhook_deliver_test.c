/* What reaches a receiver, and what never does. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/str.h"
#include "tests/support/never_free.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

TestSuite(webhook_deliver, .init = stack_share);

enum { SOON_MS = 30000 };

static json_t *parsed(const struct received *received)
{
    json_t *body = never_free(json_loads(received->body, 0, NULL));

    cr_assert_not_null(body, "%s", received->body);
    return body;
}

Test(webhook_deliver, a_created_conversation_is_announced_as_the_contract_says)
{
    struct receiver *receiver = receiver_start("good");
    const struct received *got;
    struct org org;
    struct webhook webhook;
    const json_t *body, *data;
    const char *id;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "conversation.created", &webhook);
    cr_assert_eq(strncmp(webhook.secret, "whsec_", 6), 0);
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
    cr_assert_leq(labs(atol(got->timestamp) - (long)time(NULL)), 60);
    cr_assert_str_eq(got->signature, signature_of(webhook.secret, got));
}

Test(webhook_deliver, a_replay_announces_nothing)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "conversation.created", &webhook);
    new_conversation(&org, "c-1", "u-1");
    expect_status(
        api_create(org.full_key, "{\"external_id\":\"c-1\",\"from\":{\"external_id\":\"u-1\"}}"),
        200);
    new_conversation(&org, "c-2", "u-1");
    webhook_await(&org, &webhook, 2, SOON_MS);
    cr_assert_eq(sql_integer("SELECT count(*) FROM webhook.events WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 2);
}

Test(webhook_deliver, web_chat_announces_and_other_channels_do_not)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;
    const json_t *body;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "conversation.created", &webhook);
    never_free(convctl("conversation", "open", "--org", org.id, "--channel", "email", NULL));
    never_free(convctl("conversation", "open", "--org", org.id, "--channel", "widget", NULL));
    receiver_await(receiver, "/ok", 1, SOON_MS);
    body = parsed(receiver_get(receiver, "/ok", 0));
    cr_assert_str_eq(text_of(json_object_get(body, "data"), "channel"), "widget");
    webhook_await(&org, &webhook, 1, SOON_MS);
    cr_assert_eq(receiver_count(receiver, "/ok"), 1);
}

Test(webhook_deliver, an_operators_takeover_and_events_of_external_systems_arrive)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook handoff, created, resolved;
    const json_t *opened, *data;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok/handoff"), "ai.handoff", &handoff);
    webhook_new(&org, receiver_url(receiver, "/ok/created"), "ticket.created", &created);
    webhook_new(&org, receiver_url(receiver, "/ok/resolved"), "ticket.resolved", &resolved);

    opened =
        never_free(convctl("conversation", "open", "--org", org.id, "--channel", "widget", NULL));
    never_free(convctl("conversation", "set-status", "--org", org.id, text_of(opened, "id"),
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

Test(webhook_deliver, an_endpoint_without_signing_gets_no_signature)
{
    struct receiver *receiver = receiver_start("good");
    const struct received *got;
    struct org org;

    org_new(&org);
    never_free(convctl("webhook", "create", "--org", org.id, "--url", receiver_url(receiver, "/ok"),
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
    struct webhook webhook;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &webhook);
    cr_assert_null(json_object_get(webhook_shown(&org, &webhook), "secret"));
    cr_assert_eq(sql_integer("SELECT count(*) FROM webhook.endpoints"
                             " WHERE position(convert_to($1, 'UTF8') IN secret) > 0",
                             webhook.secret + 6, NULL),
                 0);
}

static const char *signature_sent(const struct org *org, const struct webhook *webhook,
                                  struct receiver *receiver, const struct received **got)
{
    const size_t before = receiver_count(receiver, "/ok");

    cr_assert_str_eq(text_of(webhook_test(org, webhook), "state"), "succeeded");
    *got = receiver_get(receiver, "/ok", before);
    return (*got)->signature;
}

static const json_t *rotate(const struct org *org, const struct webhook *webhook, const char *step)
{
    return never_free(
        convctl("webhook", "rotate-secret", "--org", org->id, webhook->id, step, NULL));
}

Test(webhook_deliver, a_secret_is_rotated_in_place_when_the_receiver_is_ready)
{
    struct receiver *receiver = receiver_start("good");
    const struct received *got;
    struct org org;
    struct webhook webhook;
    const char *dropped, *next, *signature;
    char code[64];

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &webhook);
    cr_assert_eq(convctl_fails(code, "webhook", "rotate-secret", "--org", org.id, webhook.id,
                               "finish", NULL),
                 1);
    cr_assert_str_eq(code, "conflict");
    dropped = text_of(rotate(&org, &webhook, "begin"), "next_secret");
    next = text_of(rotate(&org, &webhook, "begin"), "next_secret");
    cr_assert_eq(strncmp(next, "whsec_", 6), 0);
    cr_assert_str_neq(next, dropped);
    cr_assert_null(json_object_get(webhook_shown(&org, &webhook), "next_secret"));
    cr_assert(json_is_integer(json_object_get(webhook_shown(&org, &webhook), "next_secret_at")));
    signature = signature_sent(&org, &webhook, receiver, &got);
    cr_assert_str_eq(signature, signature_of(webhook.secret, got),
                     "still signed with the current secret");

    rotate(&org, &webhook, "finish");
    cr_assert(json_is_null(json_object_get(webhook_shown(&org, &webhook), "next_secret_at")));
    signature = signature_sent(&org, &webhook, receiver, &got);
    cr_assert_str_eq(signature, signature_of(next, got));

    rotate(&org, &webhook, "begin");
    rotate(&org, &webhook, "cancel");
    rotate(&org, &webhook, "cancel");
    cr_assert_eq(convctl_fails(code, "webhook", "rotate-secret", "--org", org.id, webhook.id,
                               "finish", NULL),
                 1);
    signature = signature_sent(&org, &webhook, receiver, &got);
    cr_assert_str_eq(signature, signature_of(next, got));
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.changes WHERE organization_id = $1::uuid"
                             " AND change = 'endpoint.rotate-secret' AND target = $2",
                             org.id, webhook.id, NULL),
                 5, "three begins, one finish and one cancel");
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.changes WHERE organization_id = $1::uuid"
                             " AND detail::text ~ 'whsec'",
                             org.id, NULL),
                 0);
}

Test(webhook_deliver, an_endpoint_without_signing_has_no_secret_to_rotate)
{
    struct org org;
    const json_t *made;
    char code[64];

    org_new(&org);
    made = never_free(convctl("webhook", "create", "--org", org.id, "--url",
                              "https://hooks.example.com/", "--event", "ticket.created",
                              "--no-signing", NULL));
    cr_assert_eq(convctl_fails(code, "webhook", "rotate-secret", "--org", org.id,
                               text_of(made, "id"), "begin", NULL),
                 1);
    cr_assert_str_eq(code, "conflict");
    cr_assert_eq(
        convctl_fails(code, "webhook", "rotate-secret", "--org", org.id, org.id, "begin", NULL), 1);
    cr_assert_str_eq(code, "not_found");
}

Test(webhook_deliver, a_secret_moved_to_another_endpoint_signs_nothing)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook one, other;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok/one"), "ticket.created", &one);
    webhook_new(&org, receiver_url(receiver, "/ok/other"), "ticket.resolved", &other);
    sql_text("UPDATE webhook.endpoints SET secret = (SELECT secret FROM webhook.endpoints"
             " WHERE id = $1::uuid) WHERE id = $2::uuid RETURNING id",
             one.id, other.id, NULL);
    cr_assert_str_eq(text_of(webhook_test(&org, &other), "error"), "internal");
    cr_assert_eq(receiver_count(receiver, "/ok/other"), 0);
}

Test(webhook_deliver, an_endpoint_made_after_an_event_does_not_get_it)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook early, late;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok/early"), "ticket.created", &early);
    publish_ticket(&org, "ticket.created", "T-1");
    webhook_new(&org, receiver_url(receiver, "/ok/late"), "ticket.created", &late);
    publish_ticket(&org, "ticket.created", "T-2");
    receiver_await(receiver, "/ok/early", 2, SOON_MS);
    webhook_await(&org, &late, 1, SOON_MS);
    cr_assert_eq(receiver_count(receiver, "/ok/late"), 1);
}

Test(webhook_deliver, nothing_of_one_organization_reaches_another)
{
    struct receiver *receiver = receiver_start("good");
    struct org org, other;
    struct webhook webhook;
    const json_t *delivery;
    char code[64];

    org_new(&org);
    org_new(&other);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &webhook);
    publish_ticket(&other, "ticket.created", "T-1");
    delivery = webhook_test(&org, &webhook);
    cr_assert_eq(receiver_count(receiver, "/ok"), 1);
    cr_assert_eq(
        convctl_fails(code, "webhook", "resend", "--org", other.id, text_of(delivery, "id"), NULL),
        1);
    cr_assert_str_eq(code, "not_found");
    cr_assert_eq(convctl_fails(code, "webhook", "deliveries", "--org", other.id, webhook.id, NULL),
                 1);
    cr_assert_eq(convctl_fails(code, "webhook", "test", "--org", other.id, webhook.id, NULL), 1);
    cr_assert_eq(convctl_fails(code, "webhook", "delete", "--org", other.id, webhook.id, NULL), 1);
}

Test(webhook_deliver, malformed_events_of_external_systems_are_refused)
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
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_assert_eq(convctl_fails(code, "event", "publish", "--org", org.id, "--type", bad[i][0],
                                   "--data", bad[i][1], NULL),
                     1, "%s %s", bad[i][0], bad[i][1]);
    cr_assert_eq(sql_integer("SELECT count(*) FROM webhook.events WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 0);
}

Test(webhook_deliver, roles_can_do_only_their_work)
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
        {"conv_conversation", "SELECT url FROM webhook.endpoints"},
        {"conv_conversation", "SELECT secret FROM webhook.endpoints"},
        {"conv_conversation", "INSERT INTO webhook.queue DEFAULT VALUES"},
        {"conv_access", "SELECT * FROM webhook.endpoints"},
        {"conv_search", "SELECT * FROM webhook.events"},
        {"conv_audit", "SELECT * FROM webhook.deliveries"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        cr_expect_str_eq(sql_state_as(refused[i].role, refused[i].text), "42501", "%s: %s",
                         refused[i].role, refused[i].text);
    cr_expect_str_eq(sql_state_as("conv_webhook", "SELECT webhook.keep_partitions()"), "00000");
}

/* Each delivery takes so long that others begin before it ends, even on a busy machine. */
Test(webhook_deliver, no_more_than_4_at_an_endpoint_and_32_in_an_organization)
{
    enum { ENDPOINTS = 20, EVENTS_OF_ONE = 8, EVENTS_OF_ALL = 4, TIMEOUT_MS = 60000 };
    struct receiver *one = receiver_start("good"), *all = receiver_start("good");
    struct org org;
    struct webhook webhook;

    org_new(&org);
    webhook_new(&org, receiver_url(one, "/slow/600"), "ticket.created", &webhook);
    for (int i = 0; i < ENDPOINTS; i++)
        webhook_new(&org, receiver_url(all, format("/slow/600/%d", i)), "ticket.resolved",
                    &webhook);
    sql_text("WITH trusted AS (UPDATE webhook.progress SET proven = true"
             " WHERE organization_id = $1::uuid RETURNING id) SELECT count(*) FROM trusted",
             org.id, NULL);
    sql_text(
        "WITH made AS (INSERT INTO webhook.events (organization_id, id, type, data, created_at)"
        " SELECT $1::uuid, gen_random_uuid(), t, '{}', clock_timestamp()"
        "   FROM (VALUES ('ticket.created', $2::int), ('ticket.resolved', $3::int)) AS v (t, n),"
        "        generate_series(1, n) RETURNING id) SELECT count(*) FROM made",
        org.id, format("%d", EVENTS_OF_ONE), format("%d", EVENTS_OF_ALL), NULL);
    receiver_await(one, "/slow", EVENTS_OF_ONE, TIMEOUT_MS);
    receiver_await(all, "/slow", ENDPOINTS * EVENTS_OF_ALL, TIMEOUT_MS);
    cr_expect_leq(receiver_most_at_once(one), 4);
    cr_expect_geq(receiver_most_at_once(one), 2);
    cr_expect_leq(receiver_most_at_once(all), 32);
    cr_expect_geq(receiver_most_at_once(all), 16);
}

/* Enough that more than 4 are claimed at a time. */
Test(webhook_deliver, no_more_than_4_go_to_a_quick_endpoint_for_which_more_are_claimed)
{
    enum { EVENTS = 200, TIMEOUT_MS = 60000 };
    const int64_t until_us = clock_mono_us() + TIMEOUT_MS * INT64_C(1000);
    struct receiver *receiver = receiver_start("good");
    int64_t most_claimed = 0;
    struct webhook webhook;
    struct org org;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/slow/5"), "ticket.created", &webhook);
    webhook_test(&org, &webhook);
    store_events(&org, "ticket.created", EVENTS);
    while (receiver_count(receiver, "/slow") < EVENTS) {
        const int64_t claimed =
            sql_integer("SELECT count(*) FROM webhook.queue WHERE"
                        " organization_id = $1::uuid AND lease_until IS NOT NULL",
                        org.id, NULL);

        if (claimed > most_claimed)
            most_claimed = claimed;
        cr_assert_lt(clock_mono_us(), until_us, "not all are delivered");
    }
    receiver_await(receiver, "/slow", EVENTS + 1, TIMEOUT_MS);
    cr_expect_gt(most_claimed, 4);
    cr_expect_leq(receiver_most_at_once(receiver), 4);
    cr_expect_eq(sql_integer("SELECT count(DISTINCT event_id) FROM webhook.deliveries WHERE"
                             " organization_id = $1::uuid AND cause <> 'event'",
                             org.id, NULL),
                 1, "only the test event is not of an event");
}

/* The next may be the first after the sessions were forgotten, but not all of them. */
Test(webhook_deliver, a_tls_session_is_resumed_for_the_same_endpoint)
{
    enum { TRIES = 5, TIMEOUT_MS = 10000 };
    struct receiver *receiver = receiver_start("good"), *other = receiver_start("good");
    struct webhook webhook, elsewhere;
    bool was_resumed = false;
    struct org org;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &webhook);
    webhook_new(&org, receiver_url(other, "/ok"), "ticket.created", &elsewhere);
    webhook_test(&org, &webhook);
    receiver_await(receiver, "/ok", 1, TIMEOUT_MS);
    cr_expect_not(receiver_get(receiver, "/ok", 0)->was_resumed);
    for (size_t i = 1; i <= TRIES && !was_resumed; i++) {
        webhook_test(&org, &webhook);
        receiver_await(receiver, "/ok", i + 1, TIMEOUT_MS);
        was_resumed = receiver_get(receiver, "/ok", i)->was_resumed;
    }
    cr_expect(was_resumed);
    webhook_test(&org, &elsewhere);
    receiver_await(other, "/ok", 1, TIMEOUT_MS);
    cr_expect_not(receiver_get(other, "/ok", 0)->was_resumed);
}

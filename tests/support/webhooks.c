#include "tests/support/webhooks.h"

#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/crypto/crypto.h"
#include "tests/support/never_free.h"
#include "tests/support/sql.h"

void webhook_new(const struct org *org, const char *url, const char *event, struct webhook *webhook)
{
    const json_t *made = never_free(
        convctl("webhook", "create", "--org", org->id, "--url", url, "--event", event, NULL));

    snprintf(webhook->id, sizeof(webhook->id), "%s", text_of(made, "id"));
    snprintf(webhook->secret, sizeof(webhook->secret), "%s", text_of(made, "secret"));
    expect_uuid(webhook->id);
}

void webhook_watch(const struct org *org)
{
    sql_text(
        "WITH made AS (INSERT INTO webhook.endpoints (organization_id, id, url, events, signing,"
        " secret, enabled) VALUES ($1::uuid, gen_random_uuid(), 'https://example.org/',"
        " '{ai.handoff,conversation.created}', false, '', false) RETURNING id)"
        " SELECT count(*) FROM made",
        org->id, NULL);
}

const json_t *webhook_shown(const struct org *org, const struct webhook *webhook)
{
    const json_t *all = never_free(convctl("webhook", "list", "--org", org->id, NULL));

    for (size_t i = 0; i < json_array_size(all); i++) {
        if (strcmp(text_of(json_array_get(all, i), "id"), webhook->id) == 0)
            return json_array_get(all, i);
    }
    cr_assert_fail("endpoint %s is not in the list", webhook->id);
    return NULL;
}

struct awaited {
    const struct org *org;
    const struct webhook *webhook;
    int n;
};

static bool has_left(void *closure)
{
    const struct awaited *awaited = closure;

    return sql_integer("SELECT count(*) FROM webhook.deliveries WHERE organization_id = $1::uuid"
                       " AND endpoint_id = $2::uuid",
                       awaited->org->id, awaited->webhook->id, NULL) >= awaited->n;
}

void webhook_await(const struct org *org, const struct webhook *webhook, int n, int timeout_ms)
{
    struct awaited awaited = {org, webhook, n};

    cr_assert(stack_wait(has_left, &awaited, timeout_ms), "%d deliveries did not end in time", n);
}

const json_t *webhook_delivery(const struct org *org, const struct webhook *webhook, size_t nth)
{
    const json_t *all =
        never_free(convctl("webhook", "deliveries", "--org", org->id, webhook->id, NULL));

    cr_assert_lt(nth, json_array_size(all));
    return json_array_get(all, nth);
}

const char *publish_ticket(const struct org *org, const char *type, const char *id)
{
    return text_of(
        never_free(convctl("event", "publish", "--org", org->id, "--type", type, "--data",
                           format("{\"id\":\"%s\",\"status\":\"open\"}", id), NULL)),
        "id");
}

static bool has_ended(void *closure)
{
    return sql_integer("SELECT count(*) FROM webhook.deliveries WHERE id = $1::uuid",
                       *(const char **)closure, NULL) == 1;
}

void store_events(const struct org *org, const char *type, int n)
{
    sql_text("WITH made AS (INSERT INTO webhook.events (organization_id, id, type, data,"
             " created_at) SELECT $1::uuid, gen_random_uuid(), $2, '{}', clock_timestamp()"
             " FROM generate_series(1, $3::int) RETURNING id) SELECT count(*) FROM made",
             org->id, type, format("%d", n), NULL);
}

const json_t *webhook_test(const struct org *org, const struct webhook *webhook)
{
    const char *id =
        text_of(never_free(convctl("webhook", "test", "--org", org->id, webhook->id, NULL)), "id");

    cr_assert(stack_wait(has_ended, &id, 30000), "the test event was not delivered");
    return webhook_delivery(org, webhook, 0);
}

struct pg_conn *webhooks_lock_queue(void)
{
    PGconn *const lock = PQconnectdb(stack_setting("DATABASE_URL"));

    PQclear(PQexec(lock, "BEGIN; SELECT webhook.lock_queue()"));
    cr_assert_eq(PQtransactionStatus(lock), PQTRANS_INTRANS, "%s", PQerrorMessage(lock));
    return lock;
}

void webhooks_unlock_queue(struct pg_conn *lock)
{
    PQfinish(lock);
}

const char *signature_of(const char *secret, const struct received *received)
{
    const char *bytes = format("%s.%s", received->timestamp, received->body);
    uint8_t mac[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];

    crypto_hmac_sha256(str_of(secret), str_of(bytes), mac);
    hex_write(mac, sizeof(mac), hex);
    return format("v1=%s", hex);
}

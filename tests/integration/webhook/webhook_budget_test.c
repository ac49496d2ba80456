/* Limits on one organization: its endpoints, and the deliveries that its events cause a minute. */
#include <criterion/criterion.h>

#include "proto/subject.h"
#include "tests/support/never_free.h"
#include "tests/support/service_client.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

TestSuite(webhook_budget, .init = service_connection_open, .fini = service_connection_close);

enum { SOON_MS = 30000, ENDPOINTS_MAX = 50 };

static bool has_room_in_minute(void *unused)
{
    return sql_integer("SELECT (extract(second FROM clock_timestamp()) < 50)::int", NULL) == 1;
}

/* As if the organization had used all but n of its deliveries in this minute. */
static void leave_of_budget(const struct org *org, const char *n)
{
    cr_assert(stack_wait(has_room_in_minute, NULL, 20000));
    sql_text("INSERT INTO webhook.statistics (organization_id, minute, delivered, failed, queued)"
             " SELECT $1::uuid, date_trunc('minute', now(), 'UTC'), 0, 0, 30000 - $2::int "
             "RETURNING organization_id",
             org->id, n, NULL);
}

/* Over all points, since a new hour, with a point of its own, may begin meanwhile. */
static json_int_t skipped_in(const json_t *statistics)
{
    const json_t *point;
    json_int_t skipped = 0;
    size_t i;

    json_array_foreach(json_object_get(statistics, "points"), i, point) skipped +=
        json_integer_value(json_object_get(point, "skipped"));
    return skipped;
}

Test(webhook_budget, excess_deliveries_are_skipped_listed_and_can_be_sent_later)
{
    struct receiver *receiver = receiver_start("good");
    const json_t *delivery, *statistics;
    struct org org;
    struct webhook webhook;
    int64_t now;

    org_new(&org);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.created", &webhook);
    leave_of_budget(&org, "1");
    publish_ticket(&org, "ticket.created", "T-1");
    webhook_await(&org, &webhook, 1, SOON_MS);
    publish_ticket(&org, "ticket.created", "T-2");
    webhook_await(&org, &webhook, 2, SOON_MS);
    cr_expect_eq(receiver_count(receiver, "/ok"), 1);
    delivery = webhook_delivery(&org, &webhook, 0);
    cr_expect_str_eq(text_of(delivery, "state"), "skipped");
    cr_expect_str_eq(text_of(delivery, "error"), "over_budget");
    now = sql_integer("SELECT extract(epoch FROM now())::bigint", NULL);
    statistics =
        (service_client_get_as(service_connection, &some_user, SUBJECT_WEBHOOK_STATISTICS, org.id,
                               format("{\"since\":%lld,\"until\":%lld,\"step\":3600}",
                                      (long long)now - 3600, (long long)now + 60)));
    cr_expect_eq(skipped_in(statistics), 1);

    never_free(convctl("webhook", "resend", "--org", org.id, text_of(delivery, "id"), NULL));
    receiver_await(receiver, "/ok", 2, SOON_MS);
}

Test(webhook_budget, endpoints_are_so_many_and_those_beyond_stay)
{
    struct webhook webhook;
    struct org org;
    char code[64];

    org_new(&org);
    webhook_new(&org, "https://127.0.0.1:1024/", "ticket.created", &webhook);
    sql_text("WITH made AS (INSERT INTO webhook.endpoints (organization_id, id, url, events,"
             " signing, secret) SELECT $1::uuid, webhook.id_at(now()), 'https://127.0.0.1:1024/',"
             " ARRAY['ticket.created'], false, '' FROM generate_series(3, $2::int) RETURNING id)"
             " SELECT count(*) FROM made",
             org.id, format("%d", ENDPOINTS_MAX), NULL);
    webhook_new(&org, "https://127.0.0.1:1024/", "ticket.created", &webhook);
    cr_expect_eq(convctl_fails(code, "webhook", "create", "--org", org.id, "--url",
                               "https://127.0.0.1:1024/", "--event", "ticket.created", NULL),
                 1);
    cr_expect_str_eq(code, "conflict");

    sql_text("WITH made AS (INSERT INTO webhook.endpoints (organization_id, id, url, events,"
             " signing, secret) SELECT $1::uuid, webhook.id_at(now()), 'https://127.0.0.1:1024/',"
             " ARRAY['ticket.created'], false, '' FROM generate_series(1, 30) RETURNING id)"
             " SELECT count(*) FROM made",
             org.id, NULL);
    cr_expect_eq(json_array_size(never_free(convctl("webhook", "list", "--org", org.id, NULL))),
                 ENDPOINTS_MAX + 30);
    cr_expect_str_eq(text_of(webhook_test(&org, &webhook), "error"), "connect");
}

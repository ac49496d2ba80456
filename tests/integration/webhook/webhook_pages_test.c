/* Lists of endpoints and deliveries come in pages; even the largest can be made many at a time. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "proto/subject.h"
#include "tests/support/large_pages.h"
#include "tests/support/measure.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

/* Alone: any other request for a page would wait until all of these are made. */
TestSuite(webhook_pages, .init = stack_have_alone);

enum {
    AT_ONCE = 256,
    LARGE = 220 * 1000,
    SHOWN_MIN = 50,          /* deliveries on a page by default */
    PEAK_MAX_KB = 128 * 1024 /* half of a container's memory */
};

/* The longest URLs, and the longest answers, each of whose bytes takes two in JSON. */
static void make_largest(const struct org *org, struct webhook *webhook)
{
    webhook_new(org, "https://127.0.0.1:1024/", "ticket.created", webhook);
    sql_text("WITH made AS (INSERT INTO webhook.endpoints (organization_id, id, url, events,"
             " signing, secret) SELECT $1::uuid, webhook.id_at(now()), repeat('x', 2048),"
             " ARRAY['t'], true, '' FROM generate_series(1, 300) RETURNING id)"
             " SELECT count(*) FROM made",
             org->id, NULL);
    sql_text(
        "WITH made AS (INSERT INTO webhook.deliveries (organization_id, created_at, id,"
        " endpoint_id, event_id, event_type, cause, state, finished_at, excerpt)"
        " SELECT $1::uuid, at, webhook.id_at(at), $2::uuid, $2::uuid, 'ticket.created', 'event',"
        "        'succeeded', now(), repeat('\"', 4096) FROM generate_series(1, 1000) i,"
        " LATERAL (SELECT date_trunc('milliseconds', now()) - i * interval '1 ms' AS at) a"
        " RETURNING id) SELECT count(*) FROM made",
        org->id, webhook->id, NULL);
}

Test(webhook_pages, of_the_largest_cost_little_memory)
{
    const pid_t pid = stack_pid("webhook-0");
    struct pages seen;
    struct webhook webhook;
    struct org org;

    org_new(&org);
    make_largest(&org, &webhook);
    measure_peak_from_now(pid);
    seen = pages_ask(&org, SUBJECT_WEBHOOK_DELIVERIES,
                     format("{\"id\":\"%s\",\"limit\":1000}", webhook.id), AT_ONCE, LARGE);
    cr_expect_eq(seen.n_large, AT_ONCE, "%d of %d replies", seen.n_large, seen.n_replies);
    seen = pages_ask(&org, SUBJECT_WEBHOOK_ENDPOINT_LIST, "{}", AT_ONCE, LARGE);
    cr_expect_eq(seen.n_large, AT_ONCE, "%d of %d replies", seen.n_large, seen.n_replies);
    cr_expect_leq(measure_peak_kb(pid), limit_scaled(PEAK_MAX_KB), "%ld KB", measure_peak_kb(pid));
    fprintf(stderr, "peak %ld KB\n", measure_peak_kb(pid));
}

Test(webhook_pages, of_the_largest_are_not_short)
{
    struct webhook webhook;
    struct org org;

    org_new(&org);
    make_largest(&org, &webhook);
    cr_expect_eq(pages_ask(&org, SUBJECT_WEBHOOK_DELIVERIES, format("{\"id\":\"%s\"}", webhook.id),
                           1, SHOWN_MIN * 8192)
                     .n_large,
                 1);
}

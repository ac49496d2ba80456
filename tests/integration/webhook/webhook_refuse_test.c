/* Destinations that are refused: by their URL, and by what their name resolves to. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/destinations.h"
#include "tests/support/nameserver.h"
#include "tests/support/never_free.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

TestSuite(webhook_refuse, .init = stack_have_alone);

enum { TIMEOUT_MS = 30000 };

static const json_t *send_to_name(const struct org *org, const char *name)
{
    struct webhook webhook;

    webhook_new(org, format("https://%s/ok", name), "ticket.created", &webhook);
    return webhook_test(org, &webhook);
}

static void expect_blocked(const struct org *org, const char *name)
{
    const json_t *delivery = send_to_name(org, name);

    cr_expect_str_eq(text_of(delivery, "error"), "blocked", "%s: %s", name,
                     text_of(delivery, "error"));
    cr_expect(json_is_null(json_object_get(delivery, "address")), "%s", name);
}

Test(webhook_refuse, every_bad_destination_is_refused_at_save)
{
    struct org org;
    size_t refused = 0;

    org_new(&org);
    for (size_t i = 0; i < bad_destinations_count; i++) {
        const struct bad_destination *bad = &bad_destinations[i];
        char code[64];

        if (bad->is_loopback)
            continue; /* the stack under test allows it */
        cr_expect_eq(convctl_fails(code, "webhook", "create", "--org", org.id, "--url", bad->url,
                                   "--event", "ticket.created", NULL),
                     1, "%s (%s)", bad->url, bad->why);
        cr_expect_str_eq(code, "parameter_invalid", "%s (%s): %s", bad->url, bad->why, code);
        refused++;
    }
    cr_assert_geq(refused, 80);
    cr_assert_eq(json_array_size(never_free(convctl("webhook", "list", "--org", org.id, NULL))), 0);
}

Test(webhook_refuse, a_bad_destination_that_got_into_the_table_is_refused_at_send)
{
    struct org org;
    struct webhook webhook;

    org_new(&org);
    webhook_new(&org, "https://10-is-not-allowed.example.com/", "ticket.created", &webhook);
    sql_text("UPDATE webhook.endpoints SET url = 'https://10.0.0.1/' WHERE id = $1::uuid"
             " RETURNING id",
             webhook.id, NULL);
    cr_assert_str_eq(text_of(webhook_test(&org, &webhook), "error"), "blocked");
    sql_text("UPDATE webhook.endpoints SET url = 'http://127.0.0.1:1/' WHERE id = $1::uuid"
             " RETURNING id",
             webhook.id, NULL);
    cr_assert_str_eq(text_of(webhook_test(&org, &webhook), "error"), "blocked");
}

Test(webhook_refuse, names_that_resolve_badly_are_refused_at_send)
{
    static const char *const names[] = {
        "a-10-0-0-1.example.net",
        "a-192-168-0-1.example.net",
        "a-172-16-0-1.example.net",
        "a-169-254-169-254.example.net",
        "a-100-64-0-1.example.net",
        "a-0-0-0-0.example.net",
        "a-224-0-0-1.example.net",
        "a-168-63-129-16.example.net",
        /* one public and one private address, in either order */
        "a-8-8-8-8.a-10-0-0-1.example.net",
        "a-10-0-0-1.a-8-8-8-8.example.net",
        "a-127-0-0-1.a-10-0-0-1.example.net",
        "a-8-8-8-8.aaaa-fd000000000000000000000000000001.example.net",
        /* through an alias */
        "cname.a-10-0-0-1.example.net",
        "cname.a-169-254-169-254.example.net",
        /* IPv6 */
        "aaaa-fd000000000000000000000000000001.example.net",
        "aaaa-fe800000000000000000000000000001.example.net",
        "aaaa-00000000000000000000ffff0a000001.example.net",
        "aaaa-00000000000000000000ffffa9fea9fe.example.net",
        "aaaa-0064ff9b000000000000000a9fea9fe0.example.net",
        "aaaa-20020a00000100000000000000000001.example.net",
        "aaaa-20010000000000000000000000000001.example.net",
        "aaaa-fd000ec2000000000000000000000254.example.net",
    };
    struct org org;

    nameserver_start();
    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        expect_blocked(&org, names[i]);
}

struct ended {
    const struct org *org;
    int n;
};

static bool has_ended_all(void *closure)
{
    const struct ended *ended = closure;

    return sql_integer("SELECT count(*) FROM webhook.deliveries WHERE organization_id = $1::uuid",
                       ended->org->id, NULL) >= ended->n;
}

/* Both ends of every special range, each behind its own name. */
static const char *const inside[] = {
    "0.0.0.0",         "0.255.255.255",   "10.0.0.0",        "10.255.255.255",  "100.64.0.0",
    "100.127.255.255", "169.254.0.0",     "169.254.255.255", "172.16.0.0",      "172.31.255.255",
    "192.0.0.0",       "192.0.0.255",     "192.0.2.0",       "192.0.2.255",     "192.31.196.0",
    "192.31.196.255",  "192.52.193.0",    "192.52.193.255",  "192.88.99.0",     "192.88.99.255",
    "192.168.0.0",     "192.168.255.255", "192.175.48.0",    "192.175.48.255",  "198.18.0.0",
    "198.19.255.255",  "198.51.100.0",    "198.51.100.255",  "203.0.113.0",     "203.0.113.255",
    "224.0.0.0",       "239.255.255.255", "240.0.0.0",       "255.255.255.254", "255.255.255.255",
    "100.100.100.200", "168.63.129.16",   "192.0.0.192",
};

Test(webhook_refuse, no_name_leads_into_a_special_range)
{
    enum { EACH = ARRAY_SIZE(inside), ALL = 2 * EACH };
    struct org org;
    size_t blocked;

    nameserver_start();
    org_new(&org);
    for (size_t i = 0; i < ALL; i++) {
        char quad[16];

        snprintf(quad, sizeof(quad), "%s", inside[i % EACH]);
        for (char *p = quad; *p != '\0'; p++)
            *p = *p == '.' ? '-' : *p;
        /* Alone, and behind an alias with a public address beside it. */
        sql_text("INSERT INTO webhook.endpoints (organization_id, id, url, events, signing, secret)"
                 " VALUES ($1::uuid, gen_random_uuid(), $2, '{ticket.created}', false, '')"
                 " RETURNING id",
                 org.id,
                 format("https://%sa-%s.example.net/", i < EACH ? "" : "cname.a-8-8-8-8.", quad),
                 NULL);
    }
    publish_ticket(&org, "ticket.created", "T-1");
    cr_assert(stack_wait(has_ended_all, &(struct ended){&org, ALL}, TIMEOUT_MS));
    blocked = (size_t)sql_integer("SELECT count(*) FROM webhook.deliveries WHERE organization_id ="
                                  " $1::uuid AND error = 'blocked' AND address IS NULL",
                                  org.id, NULL);
    cr_assert_eq(blocked, ALL, "%zu of %d", blocked, ALL);
}

Test(webhook_refuse, a_name_that_rebinds_is_judged_at_every_attempt)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;

    nameserver_start();
    org_new(&org);
    webhook_new(&org,
                format("https://rebind.a-127-0-0-1.a-10-0-0-1.receiver.example.net:%d/ok",
                       receiver_port(receiver)),
                "ticket.created", &webhook);
    /* The certificate does not match so many labels: what counts is that there is a connection. */
    cr_assert_str_eq(text_of(webhook_test(&org, &webhook), "error"), "tls");
    cr_assert_eq(receiver_connections(receiver), 1);
    cr_assert_str_eq(text_of(webhook_test(&org, &webhook), "error"), "blocked");
    cr_assert_eq(receiver_connections(receiver), 1);
}

Test(webhook_refuse, a_good_name_is_connected_to_and_its_certificate_checked)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook webhook;
    const json_t *delivery;

    nameserver_start();
    org_new(&org);
    webhook_new(&org,
                format("https://a-127-0-0-1.receiver.example.net:%d/ok", receiver_port(receiver)),
                "ticket.created", &webhook);
    delivery = webhook_test(&org, &webhook);
    cr_assert_str_eq(text_of(delivery, "state"), "succeeded");
    cr_assert_str_eq(text_of(delivery, "address"), "127.0.0.1");
    cr_assert_str_eq(receiver_get(receiver, "/ok", 0)->host,
                     format("a-127-0-0-1.receiver.example.net:%d", receiver_port(receiver)));
    webhook_new(&org,
                format("https://a-127-0-0-1.elsewhere.example.net:%d/ok", receiver_port(receiver)),
                "ticket.created", &webhook);
    cr_assert_str_eq(text_of(webhook_test(&org, &webhook), "error"), "tls");
}

Test(webhook_refuse, names_without_an_answer_fail_as_dns)
{
    struct org org;

    nameserver_start();
    org_new(&org);
    cr_expect_str_eq(text_of(send_to_name(&org, "nobody.example.net"), "error"), "dns");
    cr_expect_str_eq(text_of(send_to_name(&org, "servfail.a-1-2-3-4.example.net"), "error"), "dns");
}

Test(webhook_refuse, a_silent_name_server_delays_no_other_delivery)
{
    struct receiver *receiver = receiver_start("good");
    struct org org;
    struct webhook silent, fine;

    nameserver_start();
    org_new(&org);
    webhook_new(&org, "https://silent.a-1-2-3-4.example.net/", "ticket.created", &silent);
    webhook_new(&org, receiver_url(receiver, "/ok"), "ticket.resolved", &fine);
    publish_ticket(&org, "ticket.created", "T-1");
    for (int i = 0; i < 5; i++)
        publish_ticket(&org, "ticket.resolved", format("T-%d", i));
    webhook_await(&org, &fine, 5, TIMEOUT_MS);
    webhook_await(&org, &silent, 1, TIMEOUT_MS);
    cr_assert_str_eq(text_of(webhook_delivery(&org, &silent, 0), "error"), "dns");
    cr_assert_eq(sql_integer("SELECT count(*) FROM webhook.deliveries f, webhook.deliveries s"
                             " WHERE f.organization_id = $1::uuid AND f.endpoint_id = $2::uuid"
                             " AND s.organization_id = $1::uuid AND s.endpoint_id = $3::uuid"
                             " AND f.finished_at < s.finished_at",
                             org.id, fine.id, silent.id, NULL),
                 5, "a delivery has waited for the lookup of another");
}

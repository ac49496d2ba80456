/* Contract 5: HTTPS and the IP allowlist. These tests send requests from 127.0.0.1. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <string.h>

#include "common/bus/bus.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "tests/support/api_client.h"

TestSuite(policy, .init = stack_share);

static bool is_denied(void *closure)
{
    return api_get(closure, "/ping")->status == 403;
}

static bool is_shut_out(void *closure)
{
    const struct client_response *response = api_get(closure, "/ping");

    return response->status == 403 &&
           strcmp(text_at(response, "errors[0].code"), "ip_not_allowed") == 0;
}

static bool is_served(void *closure)
{
    return api_get(closure, "/ping")->status == 200;
}

Test(policy, plain_http_is_refused_if_https_is_required)
{
    struct org org;
    struct client_response *response;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "true", NULL));
    cr_assert(stack_wait_in_force(is_denied, org.full_key));
    response = api_get(org.full_key, "/ping");
    expect_error(response, 403, "https_required", "*");
    expect_recorded(&org, response, "ping");
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "false", NULL));
    cr_assert(stack_wait_in_force(is_served, org.full_key));
}

Test(policy, an_address_that_is_not_listed_is_refused)
{
    struct org org;
    struct client_response *response;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "192.0.2.1", "--ip",
                        "2001:db8::1", "--ip-allowlist-enabled", "true", NULL));
    cr_assert(stack_wait_in_force(is_denied, org.full_key));
    response = api_create(org.full_key, "{}");
    expect_error(response, 403, "ip_not_allowed", "*");
    cr_assert_not_null(strstr(response->body, "requests from 127.0.0.1;"), "%s", response->body);
    expect_recorded(&org, response, "conversation.create");
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "127.0.0.1", NULL));
    cr_assert(stack_wait_in_force(is_served, org.full_key));
}

Test(policy, a_mapped_address_equals_its_ipv4)
{
    struct org org;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "::ffff:127.0.0.1",
                        "--ip-allowlist-enabled", "true", NULL));
    expect_status(api_get(org.full_key, "/ping"), 200);
}

Test(policy, a_list_that_is_off_refuses_no_client)
{
    struct org org;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "192.0.2.1", NULL));
    expect_status(api_get(org.full_key, "/ping"), 200);
}

Test(policy, https_is_checked_before_the_address)
{
    struct org org;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "true", "--ip",
                        "192.0.2.1", "--ip-allowlist-enabled", "true", NULL));
    cr_assert(stack_wait_in_force(is_denied, org.full_key));
    expect_error(api_get(org.full_key, "/ping"), 403, "https_required", "*");
}

Test(policy, an_empty_list_cannot_be_on)
{
    struct org org;
    char code[64];
    json_t *policy;

    org_new(&org);
    cr_assert_eq(convctl_fails(code, "policy", "set", "--org", org.id, "--ip-allowlist-enabled",
                               "true", NULL),
                 1);
    policy = convctl("policy", "get", "--org", org.id, NULL);
    cr_assert(json_is_false(json_object_get(policy, "ip_allowlist_enabled")));
    cr_assert(json_is_false(json_object_get(policy, "require_https")));
    cr_assert_eq(json_array_size(json_object_get(policy, "ip_allowlist")), 0);
    json_decref(policy);
}

Test(policy, networks_zones_and_odd_spellings_are_refused)
{
    static const char *const odd[] = {"192.0.2.0/24", "fe80::1%eth0", "127.1",   "0x7f000001",
                                      "127.0.0.01",   "localhost",    "::1/128", "",
                                      " 127.0.0.1",   "127.0.0.1:80", "[::1]",   "1.2.3.4.5"};
    struct org org;
    char code[64];

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
        cr_assert_neq(convctl_fails(code, "policy", "set", "--org", org.id, "--ip", odd[i], NULL),
                      0, "%s", odd[i]);
}

Test(policy, forwarded_headers_of_a_stranger_do_not_count)
{
    static const char *const headers[] = {"X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https",
                                          "Forwarded: for=192.0.2.1;proto=https", NULL};
    struct org org;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "true", NULL));
    cr_assert(stack_wait_in_force(is_denied, org.full_key));
    expect_error(http_send(&(struct client_request){
                     .method = "GET", .path = "/ping", .key = org.full_key, .headers = headers}),
                 403, "https_required", "*");
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "false", "--ip",
                        "192.0.2.1", "--ip-allowlist-enabled", "true", NULL));
    cr_assert(stack_wait_in_force(is_shut_out, org.full_key));
    expect_error(http_send(&(struct client_request){
                     .method = "GET", .path = "/ping", .key = org.full_key, .headers = headers}),
                 403, "ip_not_allowed", "*");
}

Test(policy, tls_satisfies_a_policy_that_requires_https)
{
    const char *base = format("https://127.0.0.1:%s/api/v1", stack_setting("GATEWAY_TLS_PORT"));
    struct org org;
    struct client_response *response;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "true", NULL));
    response = http_send(&(struct client_request){
        .method = "GET", .base = base, .path = "/ping", .key = org.full_key});
    expect_status(response, 200);
    expect_text(response, "organization_id", org.id);
    response = http_send(&(struct client_request){
        .method = "GET", .base = base, .path = "/nothing", .key = org.full_key});
    expect_error(response, 404, "not_found", "*");
    cr_assert(stack_wait_in_force(is_denied, org.full_key));
}

/* The status of a ping through the proxy that the stack trusts. */
static int status_through_proxy(const struct org *org, const char *header, const char *header_2)
{
    const char *headers[] = {header, header_2, NULL};

    return http_send(&(struct client_request){.method = "GET",
                                              .path = "/ping",
                                              .key = org->full_key,
                                              .from = "127.0.0.2",
                                              .headers = headers})
        ->status;
}

Test(policy, a_trusted_proxy_is_believed_about_https)
{
    struct org org;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "true", NULL));
    cr_assert_eq(status_through_proxy(&org, "X-Forwarded-Proto: https", NULL), 200);
    cr_assert_eq(status_through_proxy(&org, "X-Forwarded-Proto: http", NULL), 403);
    cr_assert_eq(status_through_proxy(&org, NULL, NULL), 403);
}

Test(policy, a_trusted_proxy_is_believed_about_the_address_next_to_it)
{
    static const struct {
        const char *header, *header_2;
        int status;
    } cases[] = {
        {"X-Forwarded-For: 192.0.2.7", NULL, 200},
        {"X-Forwarded-For: ::ffff:192.0.2.7", NULL, 200},
        {"X-Forwarded-For: 198.51.100.1, 192.0.2.7", NULL, 200},
        {"X-Forwarded-For: 192.0.2.7, 127.0.0.2", NULL, 200},
        {"X-Forwarded-For: 198.51.100.1", "X-Forwarded-For: 192.0.2.7", 200},
        {"X-Forwarded-For: 192.0.2.7, 198.51.100.1", NULL, 403},
        {"X-Forwarded-For: 192.0.2.7", "X-Forwarded-For: 198.51.100.1", 403},
        {"X-Forwarded-For: 192.0.2.7, nonsense", NULL, 403},
        {"X-Real-IP: 192.0.2.7", NULL, 403},
        {NULL, NULL, 403},
    };
    struct org org;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "192.0.2.7",
                        "--ip-allowlist-enabled", "true", NULL));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        cr_assert_eq(status_through_proxy(&org, cases[i].header, cases[i].header_2),
                     cases[i].status, "case %zu", i);
}

/* -- notices of a change ----------------------------------------------------------------------- */

#define ECHO "test.policy.echo"

struct heard {
    struct bus *bus;
    const struct org *org;
    atomic_int n;
};

static void on_notice(void *closure, struct bus_message *message)
{
    struct heard *heard = closure;

    if (str_equal(bus_message_header(message, HEADER_ORGANIZATION), str_of(heard->org->id)))
        atomic_fetch_add(&heard->n, 1);
}

static bool is_heard(void *closure)
{
    struct heard *heard = closure;

    bus_wait(heard->bus, 10);
    return atomic_load(&heard->n) > 0;
}

/* Subscribes, and returns when the server has the subscription: the echo comes back after it. */
static void listen_for_notices(struct heard *heard)
{
    struct bus_mailbox *echo;
    struct bus_message *message = NULL;

    while (!bus_is_up(heard->bus))
        bus_wait(heard->bus, 10);
    bus_listen(heard->bus, SUBJECT_NOTICE_ACCESS, on_notice, heard);
    echo = bus_serve(heard->bus, ECHO, "test");
    cr_assert_eq(bus_publish(heard->bus, ECHO, NULL, NULL, 0, STR("")), ST_OK);
    while ((message = bus_take(echo)) == NULL)
        bus_wait(heard->bus, 100);
    bus_message_free(message);
}

/* A notice makes gateways look up all keys of its organization again. */
Test(policy, that_is_set_to_its_present_value_sends_no_notice)
{
    const struct bus_options options = {.url = stack_setting("NATS_URL"), .name = "notices"};
    struct heard heard;
    struct org org;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "true", NULL));
    heard = (struct heard){.bus = bus_connect(&options), .org = &org};
    listen_for_notices(&heard);
    for (int i = 0; i < 3; i++)
        json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "true", NULL));
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "false", NULL));
    cr_assert(stack_wait(is_heard, &heard, 30000));
    cr_assert_eq(atomic_load(&heard.n), 1);
    bus_free(heard.bus);
}

/* Contract 5: HTTPS and the list of addresses. Requests of these tests come from 127.0.0.1. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/api.h"

TestSuite(policy, .init = api_open, .timeout = 120);

static bool is_denied(void *closure)
{
    return api_get(closure, "/ping")->status == 403;
}

static bool is_served(void *closure)
{
    return api_get(closure, "/ping")->status == 200;
}

Test(policy, plain_http_is_refused_where_https_is_required)
{
    struct org org;
    struct answer *answer;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "true", NULL));
    cr_assert(stack_wait(is_denied, org.full_key, 1000));
    answer = api_get(org.full_key, "/ping");
    expect_error(answer, 403, "https_required", "*");
    expect_recorded(&org, answer, "ping");
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "false", NULL));
    cr_assert(stack_wait(is_served, org.full_key, 1000));
}

Test(policy, an_address_that_is_not_listed_is_refused)
{
    struct org org;
    struct answer *answer;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "192.0.2.1", "--ip",
                        "2001:db8::1", "--ip-allowlist-enabled", "true", NULL));
    cr_assert(stack_wait(is_denied, org.full_key, 1000));
    answer = api_create(org.full_key, "{}");
    expect_error(answer, 403, "ip_not_allowed", "*");
    expect_recorded(&org, answer, "conversation.create");
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "127.0.0.1", NULL));
    cr_assert(stack_wait(is_served, org.full_key, 1000));
}

Test(policy, a_mapped_address_equals_its_ipv4)
{
    struct org org;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "::ffff:127.0.0.1",
                        "--ip-allowlist-enabled", "true", NULL));
    expect_status(api_get(org.full_key, "/ping"), 200);
}

Test(policy, a_list_that_is_off_refuses_nobody)
{
    struct org org;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "192.0.2.1", NULL));
    expect_status(api_get(org.full_key, "/ping"), 200);
}

Test(policy, https_is_told_before_the_address)
{
    struct org org;

    org_new(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "true", "--ip",
                        "192.0.2.1", "--ip-allowlist-enabled", "true", NULL));
    cr_assert(stack_wait(is_denied, org.full_key, 1000));
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
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
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
    cr_assert(stack_wait(is_denied, org.full_key, 1000));
    expect_error(http_send(&(struct http_request){
                     .method = "GET", .path = "/ping", .key = org.full_key, .headers = headers}),
                 403, "https_required", "*");
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "false", "--ip",
                        "192.0.2.1", "--ip-allowlist-enabled", "true", NULL));
    expect_error(http_send(&(struct http_request){
                     .method = "GET", .path = "/ping", .key = org.full_key, .headers = headers}),
                 403, "ip_not_allowed", "*");
}

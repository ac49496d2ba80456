/* An operator's change takes effect on every gateway as soon as its notice arrives. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/api_client.h"

TestSuite(replicas, .init = stack_share);

enum { GATEWAYS = 2 };

static const char *base_of(int replica)
{
    return format("http://127.0.0.1:%d/api/v1", stack_gateway_port() + replica);
}

struct expectation {
    const char *key;
    int status;
    const char *code; /* NULL for 200 */
};

static struct client_response *ping_at(int replica, const char *key)
{
    return http_send(&(struct client_request){
        .method = "GET", .base = base_of(replica), .path = "/ping", .key = key});
}

static bool holds_everywhere(void *closure)
{
    const struct expectation *expected = closure;

    for (int i = 0; i < GATEWAYS; i++) {
        if (ping_at(i, expected->key)->status != expected->status)
            return false;
    }
    return true;
}

/* An organization whose keys both gateways know. */
static void open_org(struct org *org)
{
    org_new(org);
    for (int i = 0; i < GATEWAYS; i++) {
        expect_status(ping_at(i, org->full_key), 200);
        expect_status(ping_at(i, org->read_key), 200);
    }
}

static void expect_soon(const char *key, int status, const char *code)
{
    struct expectation expected = {key, status, code};

    cr_assert(stack_wait_in_force(holds_everywhere, &expected), "not in force in time");
    for (int i = 0; i < GATEWAYS; i++) {
        if (code != NULL)
            expect_error(ping_at(i, key), status, code, "*");
        else
            expect_status(ping_at(i, key), status);
    }
}

Test(replicas, a_revoked_key_is_refused_by_both)
{
    struct org org;

    open_org(&org);
    json_decref(convctl("key", "revoke", "--org", org.id, org.full_key_id, NULL));
    expect_soon(org.full_key, 401, "unauthorized");
    expect_soon(org.read_key, 200, NULL);
}

Test(replicas, a_changed_policy_is_kept_by_both)
{
    struct org org;

    open_org(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "192.0.2.1",
                        "--ip-allowlist-enabled", "true", NULL));
    expect_soon(org.full_key, 403, "ip_not_allowed");
    json_decref(convctl("policy", "set", "--org", org.id, "--ip-allowlist-enabled", "false", NULL));
    expect_soon(org.full_key, 200, NULL);
    json_decref(convctl("policy", "set", "--org", org.id, "--require-https", "true", NULL));
    expect_soon(org.full_key, 403, "https_required");
}

Test(replicas, a_downgraded_plan_counts_on_both)
{
    struct org org;

    open_org(&org);
    json_decref(convctl("org", "set", org.id, "--plan", "free", NULL));
    expect_soon(org.full_key, 403, "api_plan_restricted");
    json_decref(convctl("org", "set", org.id, "--plan", "starter", NULL));
    expect_soon(org.full_key, 200, NULL);
}

Test(replicas, a_limit_is_shared_by_both)
{
    enum { LIMIT = 40, EACH = 45 };
    struct client_request requests[2 * EACH];
    struct client_response *responses[2 * EACH];
    struct org org;
    int served = 0;

    do {
        org_new(&org);
        json_decref(convctl("org", "set", org.id, "--rate-limit", "40", NULL));
        for (int i = 0; i < 2 * EACH; i++)
            requests[i] = (struct client_request){
                .method = "GET", .base = base_of(i % 2), .path = "/ping", .key = org.full_key};
        api_send_together(requests, 2 * EACH, responses);
    } while (!api_in_one_window(responses, 2 * EACH));
    for (int i = 0; i < 2 * EACH; i++) {
        served += responses[i]->status == 200;
        if (responses[i]->status != 200)
            expect_error(responses[i], 429, "rate_limit_exceeded", "*");
    }
    cr_assert(served >= LIMIT && served <= LIMIT + LIMIT / 10, "%d of %d were served", served,
              LIMIT);
}

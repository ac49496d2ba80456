/* Rate limits: windows of 10 seconds, aligned to the epoch. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/api_client.h"

TestSuite(ratelimit, .init = stack_share);

static void org_with_limit(struct org *org, const char *limit)
{
    org_new(org);
    json_decref(convctl("org", "set", org->id, "--rate-limit", limit, NULL));
}

static int count_status(struct client_response *const *responses, int n, int status)
{
    int count = 0;

    for (int i = 0; i < n; i++)
        count += responses[i]->status == status;
    return count;
}

/* If a window ends between the answers, these tests repeat their requests. */

Test(ratelimit, every_response_has_the_number_of_requests_left)
{
    enum { N = 5 };
    struct client_response *responses[N];
    struct org org;
    long last_left = 100;

    org_with_limit(&org, "100");
    do {
        for (int i = 0; i < N; i++) {
            const long before_s = (long)time(NULL);
            long reset;

            responses[i] = api_get(org.full_key, i % 2 == 0 ? "/ping" : "/nothing");
            reset = http_header_integer(responses[i], "X-RateLimit-Reset");
            cr_assert_eq(reset % 10, 0);
            cr_assert(reset > before_s && reset <= (long)time(NULL) + 10, "%ld", reset);
        }
    } while (!api_in_one_window(responses, N));
    for (int i = 0; i < N; i++) {
        long left = http_header_integer(responses[i], "X-RateLimit-Remaining");

        cr_assert_eq(http_header_integer(responses[i], "X-RateLimit-Limit"), 100);
        cr_assert(left >= 0 && left < last_left, "%ld after %ld", left, last_left);
        last_left = left;
    }
}

Test(ratelimit, refuses_what_is_over_the_limit_and_says_when_to_come_back)
{
    enum { N = 40 };
    struct org org;
    struct client_response *responses[N], *refused = NULL;
    int served;

    do {
        org_with_limit(&org, "20");
        for (int i = 0; i < N; i++)
            responses[i] = api_get(org.full_key, "/ping");
    } while (!api_in_one_window(responses, N));
    served = count_status(responses, N, 200);
    cr_assert(served >= 20 && served <= 22, "%d of 20 were served", served);
    cr_assert_eq(count_status(responses, N, 429), N - served);
    refused = responses[N - 1];
    expect_error(refused, 429, "rate_limit_exceeded", "*");
    expect_recorded(&org, refused, "ping");
    cr_assert_eq(http_header_integer(refused, "X-RateLimit-Limit"), 20);
    cr_assert_eq(http_header_integer(refused, "X-RateLimit-Remaining"), 0);
    cr_assert(http_header_integer(refused, "Retry-After") >= 1 &&
              http_header_integer(refused, "Retry-After") <= 10);
}

static bool is_refused(void *closure)
{
    return api_get(closure, "/ping")->status == 429;
}

Test(ratelimit, a_new_window_serves_again)
{
    const struct client_response *refused;
    struct org org;

    org_with_limit(&org, "3");
    cr_assert(stack_wait(is_refused, org.full_key, 30000));
    refused = api_get(org.full_key, "/ping");
    if (refused->status == 429)
        poll(NULL, 0, (int)http_header_integer(refused, "Retry-After") * 1000 + 1000);
    expect_status(api_get(org.full_key, "/ping"), 200);
}

Test(ratelimit, comes_before_path_method_and_scope)
{
    enum { BEFORE = 6, N = BEFORE + 3 };
    struct client_response *responses[N];
    struct org org;

    do {
        org_with_limit(&org, "2");
        for (int i = 0; i < BEFORE; i++)
            responses[i] = api_get(org.read_key, "/ping");
        responses[BEFORE] = api_get(org.read_key, "/nothing");
        responses[BEFORE + 1] = api_post(org.read_key, "/ping", "{}");
        responses[BEFORE + 2] = api_post(org.read_key, "/conversations", "{}");
    } while (!api_in_one_window(responses, N));
    for (int i = BEFORE; i < N; i++)
        expect_error(responses[i], 429, "rate_limit_exceeded", "*");
}

Test(ratelimit, keys_have_limits_of_their_own_and_the_organization_two_and_a_half_times_that)
{
    enum { KEYS = 4, EACH = 20, ALL = KEYS * EACH };
    struct org org;
    struct client_response *responses[ALL];
    char tokens[KEYS][64], id[37];
    int served;

    do {
        org_with_limit(&org, "10");
        for (int i = 0; i < KEYS; i++)
            org_new_key(&org, "read", tokens[i], id);
        for (int i = 0; i < ALL; i++)
            responses[i] = api_get(tokens[i % KEYS], "/ping");
    } while (!api_in_one_window(responses, ALL));
    served = count_status(responses, ALL, 200);
    cr_assert(served >= 25 && served <= 28, "%d of 25 were served", served);
    for (int k = 0; k < KEYS; k++) {
        int of_key = 0;

        for (int i = k; i < ALL; i += KEYS)
            of_key += responses[i]->status == 200;
        cr_assert_leq(of_key, 11, "a key was served %d times", of_key);
    }
}

Test(ratelimit, holds_when_requests_come_together)
{
    enum { N = 60 };
    struct client_request requests[N];
    struct client_response *responses[N];
    struct org org;
    int served;

    do {
        org_with_limit(&org, "30");
        for (int i = 0; i < N; i++)
            requests[i] =
                (struct client_request){.method = "GET", .path = "/ping", .key = org.full_key};
        api_send_together(requests, N, responses);
    } while (!api_in_one_window(responses, N));
    served = count_status(responses, N, 200);
    cr_assert(served >= 30 && served <= 33, "%d of 30 were served", served);
    cr_assert_eq(count_status(responses, N, 429), N - served);
}

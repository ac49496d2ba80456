/* Rate limits: windows of 10 seconds, aligned to the epoch. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/api.h"

TestSuite(ratelimit, .init = api_open, .timeout = 120);

enum { ROOM_MS = 6000 }; /* enough for what each of these tests does in one window */

static void org_with_limit(struct org *org, const char *limit)
{
    org_new(org);
    json_decref(convctl("org", "set", org->id, "--rate-limit", limit, NULL));
}

static int count_status(struct answer *const *answers, int n, int status)
{
    int count = 0;

    for (int i = 0; i < n; i++)
        count += answers[i]->status == status;
    return count;
}

Test(ratelimit, every_answer_tells_what_is_left)
{
    struct org org;
    long first_left, reset;

    org_with_limit(&org, "100");
    api_begin_in_window(ROOM_MS);
    first_left = -1;
    for (int i = 0; i < 5; i++) {
        struct answer *answer = api_get(org.full_key, i % 2 == 0 ? "/ping" : "/nothing");
        long left = http_header_integer(answer, "X-RateLimit-Remaining");

        cr_assert_eq(http_header_integer(answer, "X-RateLimit-Limit"), 100);
        cr_assert(left >= 0 && left < 100, "%ld", left);
        cr_assert(first_left < 0 || left < first_left, "%ld after %ld", left, first_left);
        first_left = left;
        reset = http_header_integer(answer, "X-RateLimit-Reset");
        cr_assert_eq(reset % 10, 0);
        cr_assert(reset > (long)time(NULL) && reset <= (long)time(NULL) + 10, "%ld", reset);
    }
}

Test(ratelimit, refuses_what_is_over_the_limit_and_says_when_to_come_back)
{
    struct org org;
    struct answer *answers[40], *refused = NULL;
    int served;

    org_with_limit(&org, "20");
    api_begin_in_window(ROOM_MS);
    for (int i = 0; i < 40; i++)
        answers[i] = api_get(org.full_key, "/ping");
    served = count_status(answers, 40, 200);
    cr_assert(served >= 20 && served <= 22, "%d of 20 were served", served);
    cr_assert_eq(count_status(answers, 40, 429), 40 - served);
    refused = answers[39];
    expect_error(refused, 429, "rate_limit_exceeded", "*");
    expect_recorded(&org, refused, "ping");
    cr_assert_eq(http_header_integer(refused, "X-RateLimit-Limit"), 20);
    cr_assert_eq(http_header_integer(refused, "X-RateLimit-Remaining"), 0);
    cr_assert(http_header_integer(refused, "Retry-After") >= 1 &&
              http_header_integer(refused, "Retry-After") <= 10);
}

static bool is_served(void *closure)
{
    return api_get(closure, "/ping")->status == 200;
}

Test(ratelimit, a_new_window_serves_again)
{
    struct org org;

    org_with_limit(&org, "3");
    api_begin_in_window(ROOM_MS);
    for (int i = 0; i < 10; i++)
        api_get(org.full_key, "/ping");
    expect_status(api_get(org.full_key, "/ping"), 429);
    cr_assert(stack_wait(is_served, org.full_key, 11000));
}

Test(ratelimit, comes_before_path_method_and_scope)
{
    struct org org;

    org_with_limit(&org, "2");
    api_begin_in_window(ROOM_MS);
    for (int i = 0; i < 6; i++)
        api_get(org.read_key, "/ping");
    expect_error(api_get(org.read_key, "/nothing"), 429, "rate_limit_exceeded", "*");
    expect_error(api_post(org.read_key, "/ping", "{}"), 429, "rate_limit_exceeded", "*");
    expect_error(api_post(org.read_key, "/conversations", "{}"), 429, "rate_limit_exceeded", "*");
}

Test(ratelimit, keys_have_limits_of_their_own_and_the_organization_two_and_a_half_times_that)
{
    enum { KEYS = 4, EACH = 20, ALL = KEYS * EACH };
    struct org org;
    struct answer *answers[ALL];
    char tokens[KEYS][64], id[37];
    int served;

    org_with_limit(&org, "10");
    for (int i = 0; i < KEYS; i++)
        org_new_key(&org, "read", tokens[i], id);
    api_begin_in_window(ROOM_MS);
    for (int i = 0; i < ALL; i++)
        answers[i] = api_get(tokens[i % KEYS], "/ping");
    served = count_status(answers, ALL, 200);
    cr_assert(served >= 25 && served <= 28, "%d of 25 were served", served);
    for (int k = 0; k < KEYS; k++) {
        int of_key = 0;

        for (int i = k; i < ALL; i += KEYS)
            of_key += answers[i]->status == 200;
        cr_assert_leq(of_key, 11, "a key was served %d times", of_key);
    }
}

Test(ratelimit, holds_when_requests_come_together)
{
    enum { N = 60 };
    struct http_request requests[N];
    struct answer *answers[N];
    struct org org;
    int served;

    org_with_limit(&org, "30");
    for (int i = 0; i < N; i++)
        requests[i] = (struct http_request){.method = "GET", .path = "/ping", .key = org.full_key};
    api_begin_in_window(ROOM_MS);
    api_send_together(requests, N, answers);
    served = count_status(answers, N, 200);
    cr_assert(served >= 30 && served <= 33, "%d of 30 were served", served);
    cr_assert_eq(count_status(answers, N, 429), N - served);
}

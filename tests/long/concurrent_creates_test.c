/* Creates of the same contact in two replicas at once do not slow down a neighbour: its requests
   take as long as beside the same number of creates that share nothing. TEST_LONG=1 detects a
   difference of a fifth in the p99; the short form, with fewer requests, one of a half in the p95. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/concurrent_creates.h"
#include "tests/support/http_connection.h"
#include "tests/support/measure.h"

TestSuite(concurrent_creates, .init = stack_have_alone);

enum { PER_SECOND = 200, ROUNDS_MAX = 12, REQUESTS_MAX = 1500 };

struct sizes {
    int rounds, first_pairs, requests, percent;
    int max_percent; /* of the neighbour's time beside pairs that share nothing */
};

static struct sizes sizes_of_form(void)
{
    return (struct sizes){
        .rounds = long_form_or(5, ROUNDS_MAX),
        .first_pairs = long_form_or(100, 32),
        .requests = long_form_or(REQUESTS_MAX, 80),
        .percent = long_form_or(99, 95),
        .max_percent = long_form_or(120, 150),
    };
}

/* The neighbour sends creates one after the other: that percentile of their times. */
static int64_t neighbour_us(const struct org *neighbour)
{
    static int serial;
    const struct sizes sizes = sizes_of_form();
    struct http_connection client;
    int64_t took_us[REQUESTS_MAX];

    cr_assert(http_connection_open(&client, stack_gateway_port()));
    for (int i = 0; i < sizes.requests; i++) {
        const int64_t began_us = clock_mono_us();
        struct connection_response response = {0};
        char body[128], request[512];

        snprintf(body, sizeof(body), "{\"external_id\":\"n%d\",\"from\":{\"external_id\":\"u%d\"}}",
                 serial, serial);
        serial++;
        snprintf(request, sizeof(request),
                 "POST /api/v1/conversations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                 neighbour->full_key, strlen(body), body);
        cr_assert(http_connection_send(&client, request, strlen(request)) &&
                  http_connection_receive(&client, &response, HTTP_TIMEOUT_MS));
        cr_assert_eq(response.status, 201, "the neighbour got %d", response.status);
        took_us[i] = clock_mono_us() - began_us;
    }
    http_connection_close(&client);
    return percentile(took_us, (size_t)sizes.requests, sizes.percent);
}

static int64_t beside_pairs_us(const struct org *org, const struct org *neighbour, bool share)
{
    struct pairs *const pairs = pairs_begin(org, share, PER_SECOND);
    struct pairs_seen seen;
    int64_t us;

    pairs_await(pairs, sizes_of_form().first_pairs);
    us = neighbour_us(neighbour);
    seen = pairs_end(pairs);
    cr_expect_eq(seen.others, 0, "%d responses other than 201, such as %d", seen.others,
                 seen.example);
    return us;
}

static void assert_not_felt(int n_replicas)
{
    struct replicas *const replicas = replicas_open(n_replicas);
    const long long failed = replicas_count(replicas, "conversations_batch_fallback_total");
    const int deadlocks = deadlocks_logged();
    const struct sizes sizes = sizes_of_form();
    int64_t shared_us[ROUNDS_MAX], apart_us[ROUNDS_MAX], shared_median_us, apart_median_us;
    struct org org, neighbour;

    org_new(&org);
    org_new(&neighbour);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "1000000", NULL));
    json_decref(convctl("org", "set", neighbour.id, "--rate-limit", "1000000", NULL));
    for (int i = 0; i < sizes.rounds; i++) {
        apart_us[i] = beside_pairs_us(&org, &neighbour, false);
        shared_us[i] = beside_pairs_us(&org, &neighbour, true);
    }
    shared_median_us = percentile(shared_us, (size_t)sizes.rounds, 50);
    apart_median_us = percentile(apart_us, (size_t)sizes.rounds, 50);
    fprintf(stderr,
            "%d replicas, %d pairs a second: a neighbour's p%d %lld us, and %lld where the pairs "
            "share nothing; %lld put back\n",
            n_replicas, PER_SECOND, sizes.percent, (long long)shared_median_us,
            (long long)apart_median_us,
            replicas_count(replicas, "conversations_commands_deferred_total"));
    cr_expect_leq(shared_median_us * 100, limit_scaled(apart_median_us * sizes.max_percent));
    cr_expect_eq(replicas_count(replicas, "conversations_batch_fallback_total") - failed, 0);
    cr_expect_eq(deadlocks_logged() - deadlocks, 0);
    replicas_close(replicas);
}

Test(concurrent_creates, are_not_felt_by_a_neighbour_in_two_replicas)
{
    assert_not_felt(2);
}

Test(concurrent_creates, are_not_felt_by_a_neighbour_in_five_replicas)
{
    assert_not_felt(5);
}

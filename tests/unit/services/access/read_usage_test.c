#include <stdio.h>

#include "services/access/access.h"
#include "tests/unit/services/access/parse_fixture.h"

#define INVALID "parameter_invalid"

static void refuses(const char *since, const char *until, const char *step, const char *field)
{
    char body[128];

    snprintf(body, sizeof(body), "{\"since\":%s,\"until\":%s,\"step\":%s}", since, until, step);
    parsed_refuses(&access_read_usage, body, INVALID, field);
}

Test(read_usage, is_asked_for_in_whole_steps_and_not_too_many)
{
    refuses("0", "3600", "61", "step");
    refuses("3600", "3600", "60", "until");
    refuses("0", "90060", "60", "until");
    parsed_refuses(&access_read_usage, "{}", "parameter_not_found", "since");
    parsed_needs_organization(&access_read_usage, "{\"since\":0,\"until\":60,\"step\":60}");
}

Test(read_usage, has_no_percentile_of_nothing)
{
    const int64_t none[USAGE_BUCKETS] = {0};

    cr_assert_eq(percentile_us(none, 50), -1);
}

Test(read_usage, has_percentiles_between_the_ends_of_a_bucket)
{
    int64_t counts[USAGE_BUCKETS] = {[1] = 100}; /* over 500 us, at most 1,000 */

    cr_assert_eq(percentile_us(counts, 1), 505);
    cr_assert_eq(percentile_us(counts, 50), 750);
    cr_assert_eq(percentile_us(counts, 100), 1000);
    counts[0] = 900;
    cr_assert_eq(percentile_us(counts, 90), 500);
    cr_assert_eq(percentile_us(counts, 95), 750);
    counts[USAGE_BOUNDS] = 1000;
    cr_assert_eq(percentile_us(counts, 99), 5000000, "what has no end is as long as it is sure");
}

Test(read_usage, is_counted_in_buckets_with_their_upper_ends_inside)
{
    cr_assert_eq(usage_bucket(0), 0);
    cr_assert_eq(usage_bucket(500), 0);
    cr_assert_eq(usage_bucket(501), 1);
    cr_assert_eq(usage_bucket(5000000), USAGE_BOUNDS - 1);
    cr_assert_eq(usage_bucket(5000001), USAGE_BOUNDS);
}

Test(read_usage, knows_one_outcome_for_every_status)
{
    cr_assert_eq(usage_outcome_of(201), USAGE_ALLOWED);
    cr_assert_eq(usage_outcome_of(403), USAGE_DENIED);
    cr_assert_eq(usage_outcome_of(404), USAGE_REJECTED);
    cr_assert_eq(usage_outcome_of(429), USAGE_LIMITED);
    cr_assert_eq(usage_outcome_of(503), USAGE_ERROR);
}

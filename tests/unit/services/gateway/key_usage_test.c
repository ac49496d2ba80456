/* Key usage that is counted while the bus is away. */
#include <criterion/criterion.h>

#include "services/gateway/key_cache.h"
#include "services/gateway/key_usage.h"
#include "tests/unit/services/gateway/fake_front.h"

enum { KEYS = 3000, TOLD_MAX = 8 * 250 };

static struct key *keys[KEYS];

static void use(struct key *key, int64_t minute, int status)
{
    key->used_s = minute * 60;
    key_usage_count(&gateway, key, status, 700);
}

static void set_up(void)
{
    fake_open();
    fake_bus = FAKE_BUS_AWAY;
    for (int i = 0; i < KEYS; i++) {
        uint8_t hash[SHA256_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8)};
        struct key_record record = {.expires_at = INT64_MAX};

        keys[i] = key_cache_get(gateway.keys, hash);
        key_confirm(keys[i], &record);
    }
}

static void tear_down(void)
{
    key_usage_finish(&gateway);
    for (int i = 0; i < KEYS; i++)
        key_cache_put(gateway.keys, keys[i]);
    fake_close();
}

TestSuite(key_usage, .init = set_up, .fini = tear_down);

/* Keys whose counts have not been put into a report. */
static int count_untold(void)
{
    int n = 0;

    for (int i = 0; i < KEYS; i++)
        n += list_is_linked(&keys[i]->tally.listed);
    return n;
}

Test(key_usage, is_counted_by_outcome_and_time)
{
    const struct usage_tally *tally = &keys[0]->tally;

    use(keys[0], 1, 200);
    use(keys[0], 1, 201);
    use(keys[0], 1, 404);
    use(keys[0], 1, 429);
    cr_assert_eq(tally->outcomes[USAGE_ALLOWED], 2);
    cr_assert_eq(tally->outcomes[USAGE_REJECTED], 1);
    cr_assert_eq(tally->outcomes[USAGE_LIMITED], 1);
    cr_assert_eq(tally->latency[usage_bucket(700)], 4);
}

Test(key_usage, of_a_minute_that_is_over_goes_into_a_report)
{
    const struct usage_tally *tally = &keys[0]->tally;

    use(keys[0], 1, 200);
    cr_assert_eq(gateway.usage->n_reports, 0);
    use(keys[0], 2, 200);
    cr_assert_eq(gateway.usage->n_reports, 1);
    cr_assert_eq(tally->outcomes[USAGE_ALLOWED], 1);
    use(keys[0], 1, 200);
    cr_assert_eq(tally->minute, 2, "a clock set back does not reopen a minute");
    cr_assert_eq(tally->outcomes[USAGE_ALLOWED], 2);
}

Test(key_usage, is_kept_in_bounds_and_with_its_keys_beyond_them)
{
    for (int i = 0; i < KEYS; i++)
        use(keys[i], 1, 200);
    key_usage_report(&gateway);
    cr_assert_eq(count_untold(), KEYS - TOLD_MAX);
    cr_assert_eq(gateway.usage->n_reports, 8);
    key_usage_report(&gateway);
    cr_assert_eq(gateway.usage->n_reports, 8);
    use(keys[KEYS - 1], 3, 200);
    cr_assert_eq(keys[KEYS - 1]->tally.outcomes[USAGE_ALLOWED], 2, "reported under a later minute");
    cr_assert_eq(keys[KEYS - 1]->tally.minute, 3);
}

Test(key_usage, holds_its_keys_until_it_is_reported)
{
    use(keys[0], 1, 200);
    cr_assert_eq(keys[0]->users, 2);
    key_usage_report(&gateway);
    cr_assert_eq(keys[0]->users, 1);
}

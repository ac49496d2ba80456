#include "services/gateway/key_cache.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ORG_A "01a1f97f-474a-73ab-af28-5392c02457f0"
#define ORG_B "01a1f97f-477b-7639-b538-176800431171"

/* -- the cache ------------------------------------------------------------------------------- */

static struct key_cache *cache;

static void set_up(void)
{
    cache = key_cache_new(3, 3);
}

static void tear_down(void)
{
    key_cache_free(cache);
}

static struct key *get(uint8_t n)
{
    uint8_t hash[SHA256_BYTES] = {n};

    return key_cache_get(cache, hash);
}

static void know(struct key *key, const char *organization_id)
{
    struct key_record record = {.expires_at = INT64_MAX};

    snprintf(record.organization_id, sizeof(record.organization_id), "%s", organization_id);
    key_confirm(key, &record);
}

/* Whether the key with this hash is remembered as known; asking makes it the latest used. */
static bool is_known(uint8_t n)
{
    struct key *key = get(n);
    bool known = key->state == KEY_KNOWN;

    key_cache_put(cache, key);
    return known;
}

static void add(uint8_t n, const char *organization_id)
{
    struct key *key = get(n);

    know(key, organization_id);
    key_cache_put(cache, key);
}

TestSuite(key_cache, .init = set_up, .fini = tear_down);

Test(key_cache, finds_a_key_again)
{
    struct key *first = get(1);

    cr_expect_eq(first->state, KEY_NEW);
    know(first, ORG_A);
    key_cache_put(cache, first);
    cr_expect(is_known(1));
    cr_expect_not(is_known(2));
}

Test(key_cache, forgets_the_least_recently_used_entry)
{
    add(1, ORG_A);
    add(2, ORG_A);
    add(3, ORG_A);
    cr_expect(is_known(1));
    add(4, ORG_A);
    cr_expect(is_known(1));
    cr_expect(is_known(4));
    cr_expect_not(is_known(2));
}

Test(key_cache, keeps_a_key_in_use)
{
    struct key *held = get(1);

    know(held, ORG_A);
    key_cache_hold(held);
    key_cache_put(cache, held);
    for (uint8_t n = 2; n < 10; n++)
        add(n, ORG_A);
    cr_expect(is_known(1));
    key_cache_put(cache, held);
}

Test(key_cache, does_not_lose_known_keys_to_unknown_ones)
{
    add(1, ORG_A);
    for (uint8_t n = 2; n < 200; n++) {
        struct key *key = get(n);
        key_refuse(key);
        key_cache_put(cache, key);
    }
    cr_expect(is_known(1));
}

Test(key_cache, doubts_the_keys_of_an_organization_and_those_of_none)
{
    struct key *a, *b, *refused;

    add(1, ORG_A);
    add(2, ORG_B);
    refused = get(3);
    key_refuse(refused);
    key_cache_doubt(cache, STR(ORG_A));
    a = get(1);
    b = get(2);
    cr_expect(a->stale);
    cr_expect_not(b->stale);
    cr_expect(refused->stale);
    key_cache_put(cache, a);
    key_cache_put(cache, b);
    key_cache_put(cache, refused);
}

static void count(struct key *key, void *closure)
{
    ++*(size_t *)closure;
}

Test(key_cache, visits_every_known_key)
{
    size_t n = 0;

    add(1, ORG_A);
    add(2, ORG_B);
    cr_expect_not(is_known(3));
    key_cache_each(cache, count, &n);
    cr_expect_eq(n, 2);
}

enum { MANY = 10000 };

/* CPU time of this thread. */
static int64_t cpu_us(void)
{
    struct timespec now;

    cr_assert_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* CPU time to find MANY keys whose hashes begin with multiples of `step`. */
static int64_t find_many(uint64_t step)
{
    struct key_cache *many = key_cache_new(MANY, MANY);
    int64_t took_us = 0;

    for (int round = 0; round < 2; round++) {
        const int64_t start_us = cpu_us();

        for (uint64_t i = 0; i < MANY; i++) {
            uint8_t hash[SHA256_BYTES] = {0};
            const uint64_t first = i * step;

            memcpy(hash, &first, sizeof(first));
            key_cache_put(many, key_cache_get(many, hash));
        }
        took_us = cpu_us() - start_us;
    }
    key_cache_free(many);
    return took_us;
}

/* A client that makes up keys can choose their hashes by trial. */
Test(key_cache, finds_keys_as_fast_if_an_attacker_has_chosen_them)
{
    const int64_t any_us = find_many(UINT64_C(0x9e3779b97f4a7c15)), chosen_us = find_many(1 << 14);

    cr_assert_lt(chosen_us, 20 * any_us, "%ld us, others %ld us", (long)chosen_us, (long)any_us);
}

/* -- keys ------------------------------------------------------------------------------------ */

#define MS  INT64_C(1000)
#define NOW 1000

#define ORG       "01920000-0000-7000-8000-000000000001"
#define OTHER_ORG "01920000-0000-7000-8000-000000000002"

static struct key key;

/* A key that was asked for at time 0 of the monotonic clock, and confirmed. */
static void confirm(void)
{
    struct key_record record = {.expires_at = INT64_MAX};

    key = (struct key){.asked_us = 0};
    key_confirm(&key, &record);
}

static enum key_result check(int64_t mono_ms)
{
    return key_check(&key, mono_ms * MS, NOW, true);
}

static enum key_result check_without_bus(int64_t mono_ms)
{
    return key_check(&key, mono_ms * MS, NOW, false);
}

TestSuite(key, .init = confirm);

Test(key, is_asked_about_when_it_is_new)
{
    key = (struct key){0};
    cr_expect_eq(check(0), KEY_ASK);
}

Test(key, is_good_then_refreshed_then_waited_for)
{
    cr_expect_eq(check(2999), KEY_GOOD);
    cr_expect_eq(check(3000), KEY_GOOD_ASK);
    cr_expect_eq(check(4999), KEY_GOOD_ASK);
    cr_expect_eq(check(5000), KEY_ASK);
}

Test(key, is_not_asked_about_twice_at_a_time)
{
    key.asking = true;
    cr_expect_eq(check(3000), KEY_GOOD);
    cr_expect_eq(check(5000), KEY_ASK);
}

Test(key, ends_when_it_expires)
{
    key.record.expires_at = NOW + 1;
    cr_expect_eq(check(0), KEY_GOOD);
    key.record.expires_at = NOW;
    cr_expect_eq(check(0), KEY_BAD);
}

Test(key, stays_refused_for_five_seconds)
{
    key_refuse(&key);
    cr_expect_eq(check(4999), KEY_BAD);
    cr_expect_eq(check(5000), KEY_ASK);
}

Test(key, does_without_access_for_a_minute)
{
    key_unreachable(&key, 5000 * MS);
    cr_expect_eq(check(5000), KEY_GOOD);
    cr_expect_eq(check(6000), KEY_GOOD_ASK);
    cr_expect_eq(check(59999), KEY_GOOD_ASK);
    key_unreachable(&key, 60000 * MS);
    cr_expect_eq(check(60000), KEY_OUT_OF_REACH);
    cr_expect_eq(check(61000), KEY_ASK);
}

Test(key, that_is_unknown_is_never_good_without_access)
{
    key = (struct key){0};
    key_unreachable(&key, 0);
    cr_expect_eq(check(0), KEY_OUT_OF_REACH);
    cr_expect_eq(check(1000), KEY_ASK);
}

Test(key, does_without_the_bus_for_a_minute_and_asks_when_it_is_back)
{
    cr_expect_eq(check_without_bus(3000), KEY_GOOD);
    cr_expect_eq(check_without_bus(5000), KEY_GOOD);
    cr_expect_eq(check(5000), KEY_ASK);
    cr_expect_eq(check_without_bus(59999), KEY_GOOD);
    cr_expect_eq(check_without_bus(60000), KEY_OUT_OF_REACH);
    key.record.expires_at = NOW;
    cr_expect_eq(check_without_bus(5000), KEY_BAD);
}

Test(key, that_is_unknown_is_asked_about_as_soon_as_the_bus_is_there)
{
    key = (struct key){0};
    cr_expect_eq(check_without_bus(0), KEY_OUT_OF_REACH);
    cr_expect_eq(check(0), KEY_ASK);
}

Test(key, is_waited_for_when_access_is_in_reach_again)
{
    key_unreachable(&key, 29500 * MS);
    cr_expect_eq(check(30000), KEY_GOOD);
    key_reachable(&key);
    cr_expect_eq(check(30000), KEY_ASK);
}

Test(key, is_not_relied_on_after_a_notice)
{
    key_doubt(&key, STR(ORG));
    cr_expect_eq(check(1), KEY_ASK);
    key_unreachable(&key, 1 * MS);
    cr_expect_eq(check(2), KEY_OUT_OF_REACH);
}

Test(key, remembers_of_whom_a_notice_overtook_its_look_up)
{
    struct key_record own = {.organization_id = ORG};

    key_doubt(&key, STR(ORG));
    cr_expect_not(key_is_overtaken(&key, &own), "it came before");
    key.asking = true;
    key_doubt(&key, STR(ORG));
    cr_expect(key_is_overtaken(&key, &own));
}

/* Otherwise an organization that changes often would delay the keys of all others. */
Test(key, may_be_confirmed_after_notices_about_another_organization)
{
    struct key_record own = {.organization_id = ORG};

    key.asking = true;
    key_doubt(&key, STR(OTHER_ORG));
    key_doubt(&key, STR(OTHER_ORG));
    cr_expect_not(key_is_overtaken(&key, &own));
    cr_expect(key_is_overtaken(&key, NULL), "a refused key has no known organization");
    key_doubt(&key, STR(ORG));
    cr_expect(key_is_overtaken(&key, &own));
    key_doubt(&key, STR(OTHER_ORG));
    cr_expect(key_is_overtaken(&key, &own));
}

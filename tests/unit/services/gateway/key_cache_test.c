#include "services/gateway/key_cache.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ORG_A "01a1f97f-474a-73ab-af28-5392c02457f0"
#define ORG_B "01a1f97f-477b-7639-b538-176800431171"

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

Test(key_cache, forgets_what_was_unused_for_longest)
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

Test(key_cache, keeps_a_key_that_somebody_holds)
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

/* Of this thread's processor. */
static int64_t cpu_us(void)
{
    struct timespec now;

    cr_assert_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* How long it takes to find all of as many keys, whose hashes begin with the multiples of a number. */
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

/* Who makes up keys can choose their hashes by trying. */
Test(key_cache, finds_keys_as_fast_whoever_has_chosen_them)
{
    const int64_t any_us = find_many(UINT64_C(0x9e3779b97f4a7c15)), chosen_us = find_many(1 << 14);

    cr_assert_lt(chosen_us, 20 * any_us, "%ld us, others %ld us", (long)chosen_us, (long)any_us);
}

#include "common/base/hash.h"

#include <criterion/criterion.h>

enum { BUCKETS = 1024, KEYS = 16 * BUCKETS, FULLEST = 48 /* 16 is the mean, 32 is rare */ };

static uint64_t hash(uint64_t first, uint64_t second, uint64_t seed)
{
    const uint64_t words[2] = {first, second};

    return hash_key((const uint8_t *)words, seed);
}

static int fullest(uint64_t first_step, uint64_t second_step)
{
    static int n[BUCKETS];
    int max = 0;

    for (int i = 0; i < BUCKETS; i++)
        n[i] = 0;
    for (uint64_t i = 0; i < KEYS; i++) {
        int *bucket = &n[hash(i * first_step, i * second_step, 7) % BUCKETS];

        if (++*bucket > max)
            max = *bucket;
    }
    return max;
}

Test(hash, spreads_keys_that_differ_in_a_few_bits)
{
    cr_expect_lt(fullest(1, 0), FULLEST);
    cr_expect_lt(fullest(0, 1), FULLEST);
    cr_expect_lt(fullest(BUCKETS, 0), FULLEST);
    cr_expect_lt(fullest(UINT64_C(1) << 48, 0), FULLEST);
    cr_expect_lt(fullest(0, UINT64_C(1) << 48), FULLEST);
}

/* Keys that fall into one bucket under one seed do not under another. */
Test(hash, is_another_one_with_another_seed)
{
    int n[BUCKETS] = {0}, found = 0, max = 0;

    for (uint64_t i = 0; found < 1024; i++) {
        if (hash(i, 0, 1) % BUCKETS != 0)
            continue;
        found++;
        if (++n[hash(i, 0, 2) % BUCKETS] > max)
            max = n[hash(i, 0, 2) % BUCKETS];
    }
    cr_expect_lt(max, 12);
}

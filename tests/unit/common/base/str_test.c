#include "common/base/str.h"

#include <criterion/criterion.h>

Test(str, absent_is_equal_to_empty_in_bytes_only)
{
    cr_assert(str_equal(STR_NONE, STR("")));
    cr_assert_null(str_of(NULL).p);
    cr_assert_not_null(str_of("").p);
}

Test(str, compares_all_bytes)
{
    cr_assert(str_equal(STR("a\0b"), STR("a\0b")));
    cr_assert_not(str_equal(STR("a\0b"), STR("a\0c")));
    cr_assert_not(str_equal(STR("ab"), STR("abc")));
}

Test(str, starts_with_itself_and_with_nothing)
{
    cr_assert(str_starts(STR("abc"), STR("abc")));
    cr_assert(str_starts(STR("abc"), STR("")));
    cr_assert_not(str_starts(STR("ab"), STR("abc")));
}

Test(str, skips_no_further_than_the_end)
{
    cr_assert(str_equal(str_skip(STR("abc"), 1), STR("bc")));
    cr_assert_eq(str_skip(STR("abc"), 9).n, 0);
    cr_assert_null(str_skip(STR_NONE, 1).p);
}

Test(str, trims_spaces_and_tabs_only)
{
    cr_assert(str_equal(str_trim_ows(STR(" \t a b\t ")), STR("a b")));
    cr_assert(str_equal(str_trim_ows(STR("\na\r")), STR("\na\r")));
    cr_assert_eq(str_trim_ows(STR(" \t ")).n, 0);
}

Test(str, cuts_piece_by_piece)
{
    struct str rest = STR("a,,b");

    cr_assert(str_equal(str_cut(&rest, ','), STR("a")));
    cr_assert(str_equal(str_cut(&rest, ','), STR("")));
    cr_assert_not_null(rest.p);
    cr_assert(str_equal(str_cut(&rest, ','), STR("b")));
    cr_assert_null(rest.p);
}

Test(str, distinguishes_an_empty_last_piece_from_none)
{
    struct str rest = STR("a,");

    str_cut(&rest, ',');
    cr_assert_not_null(rest.p);
    cr_assert_eq(rest.n, 0);
}

Test(str, reads_numbers_up_to_the_most)
{
    uint64_t value = 7;

    cr_assert(str_to_u64(STR("0"), 0, &value));
    cr_assert_eq(value, 0);
    cr_assert(str_to_u64(STR("00100"), 100, &value));
    cr_assert_eq(value, 100);
    cr_assert(str_to_u64(STR("18446744073709551615"), UINT64_MAX, &value));
    cr_assert_eq(value, UINT64_MAX);
}

Test(str, refuses_invalid_numbers_and_leaves_the_output)
{
    static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "0x1", "1.0", "101", "1010"};
    uint64_t value = 7;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_assert_not(str_to_u64(str_of(bad[i]), 100, &value), "%s", bad[i]);
    cr_assert_not(str_to_u64(STR("18446744073709551616"), UINT64_MAX, &value));
    cr_assert_not(str_to_u64(STR("9"), 5, &value));
    cr_assert_not(str_to_u64(STR_NONE, 5, &value));
    cr_assert_eq(value, 7);
}

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

Test(str, hash_spreads_keys_that_differ_in_a_few_bits)
{
    cr_expect_lt(fullest(1, 0), FULLEST);
    cr_expect_lt(fullest(0, 1), FULLEST);
    cr_expect_lt(fullest(BUCKETS, 0), FULLEST);
    cr_expect_lt(fullest(UINT64_C(1) << 48, 0), FULLEST);
    cr_expect_lt(fullest(0, UINT64_C(1) << 48), FULLEST);
}

/* Keys that fall into one bucket under one seed do not under another. */
Test(str, hash_is_another_one_with_another_seed)
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

#include "common/base/recent_table.h"

#include <criterion/criterion.h>
#include <string.h>

enum { WAYS = 4, SEED = 12345 };

struct entry {
    struct recent recent;
    int value;
};

static struct recent_table *table;

static const uint8_t *key_of(int n)
{
    static uint8_t key[16];

    memset(key, 0, sizeof(key));
    memcpy(key, &n, sizeof(n));
    return key;
}

static void tear_down(void)
{
    recent_table_free(table);
}

TestSuite(recent_table, .fini = tear_down);

static struct entry *add(int n, int64_t rank)
{
    struct entry *entry = recent_table_add(table, key_of(n));

    if (entry != NULL)
        entry->recent.rank = rank;
    return entry;
}

static void make(size_t sets)
{
    table = recent_table_new(sets, WAYS, sizeof(struct entry), SEED);
}

Test(recent_table, finds_what_was_added)
{
    struct entry *entry;

    make(64);
    cr_expect_null(recent_table_find(table, key_of(0)), "not even a key of zeros");
    for (int n = 0; n < 20; n++) {
        entry = add(n, 1);
        cr_assert_not_null(entry);
        cr_expect_eq(entry->value, 0);
        entry->value = n;
    }
    for (int n = 0; n < 20; n++) {
        entry = recent_table_find(table, key_of(n));
        cr_assert_not_null(entry, "%d", n);
        cr_expect_eq(entry->value, n);
        cr_expect_eq(add(n, 2), entry);
    }
}

Test(recent_table, replaces_the_lowest_rank_of_the_set)
{
    make(1);
    for (int n = 0; n < WAYS; n++)
        add(n, 10 + n)->value = n;
    (void)add(0, 20);
    cr_expect_eq(add(100, 15)->value, 0, "zeros, not the value of the one before");
    cr_expect_null(recent_table_find(table, key_of(1)));
    cr_expect_not_null(recent_table_find(table, key_of(0)));
    cr_expect_not_null(recent_table_find(table, key_of(100)));
}

Test(recent_table, keeps_what_is_to_be_kept)
{
    make(1);
    for (int n = 0; n < WAYS; n++)
        (void)add(n, RECENT_KEPT);
    cr_expect_null(add(100, 1));
    cr_expect_not_null(add(3, 1));
    cr_expect_not_null(add(100, 1));
    cr_expect_null(recent_table_find(table, key_of(3)));
}

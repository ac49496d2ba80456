#include "services/audit/chain.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena arena;

static void start(void)
{
    arena_init(&arena, 64 << 20);
}

static void stop(void)
{
    arena_release(&arena);
}

TestSuite(block, .init = start, .fini = stop);

static const struct block_stamp stamp = {.made_xid = 900, .made_us = 1, .key_id = STR("k")};

/* The i-th entry in the order of sealing, of organization `org`. */
static struct block_entry entry_of(size_t i, uint8_t org)
{
    struct block_entry entry = {.place.xid = 100 + i / 3};

    entry.place.organization_id.b[0] = org;
    entry.place.request_id.b[14] = (uint8_t)(i >> 8);
    entry.place.request_id.b[15] = (uint8_t)i;
    entry.hash[0] = (uint8_t)i;
    return entry;
}

Test(block, makes_one_for_each_organization_after_its_head)
{
    struct block_entry entries[6];
    struct block_head head = {.organization_id.b[0] = 2, .number = 7, .entries = 50};
    struct block_made *made;

    head.hash[0] = 0x77;
    for (size_t i = 0; i < 6; i++)
        entries[i] = entry_of(i, (uint8_t)(1 + i % 2));
    cr_assert_eq(blocks_make(entries, 6, &head, 1, &stamp, &arena, &made), 2);
    cr_assert_eq(made[0].block.number, 1);
    cr_assert_eq(made[0].block.entries, 3);
    cr_assert_eq(made[0].block.previous_hash[0], 0);
    cr_assert_eq(made[1].block.number, 8);
    cr_assert_eq(made[1].block.entries, 53);
    cr_assert_eq(made[1].block.previous_hash[0], 0x77);
    cr_assert_eq(made[1].block.last_xid, entries[5].place.xid);
    for (size_t i = 0; i < 3; i++)
        cr_assert_eq(made[1].block.items[i].hash[0], 1 + 2 * i, "in the order of sealing");
}

Test(block, begins_another_when_one_is_full_and_links_the_two)
{
    enum { N = BLOCK_ENTRIES_MAX + 1 };
    struct block_entry *entries = ARENA_ARRAY(&arena, struct block_entry, N);
    struct block_made *made;

    for (size_t i = 0; i < N; i++)
        entries[i] = entry_of(i, 1);
    cr_assert_eq(blocks_make(entries, N, NULL, 0, &stamp, &arena, &made), 2);
    cr_assert_eq(made[0].block.n, BLOCK_ENTRIES_MAX);
    cr_assert_eq(made[1].block.n, 1);
    cr_assert_eq(made[1].block.number, 2);
    cr_assert_eq(made[1].block.entries, N);
    cr_assert_eq(memcmp(made[1].block.previous_hash, made[0].hash, SHA256_BYTES), 0);
}

Test(block, orders_places_by_transaction_then_organization_then_request)
{
    struct block_place a = {.xid = 1, .organization_id.b[0] = 9, .request_id.b[0] = 9}, b = a;

    cr_assert_eq(block_compare_places(&a, &b), 0);
    b.request_id.b[0] = 10;
    cr_assert_lt(block_compare_places(&a, &b), 0);
    a.organization_id.b[0] = 10;
    cr_assert_gt(block_compare_places(&a, &b), 0);
    b.xid = 2;
    cr_assert_lt(block_compare_places(&a, &b), 0);
}

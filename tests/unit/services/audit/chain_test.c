/* The format of the chain, compared with hashes that other programs computed. */
#include "common/base/ascii.h"
#include "services/audit/chain.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arena arena;

static void start(void)
{
    arena_init(&arena, 1 << 20);
}

static void stop(void)
{
    arena_release(&arena);
}

TestSuite(chain, .init = start, .fini = stop);

static const struct str entry[CHAIN_COLUMNS] = {
    STR("01920000-0000-7000-8000-000000000001"),
    STR("019e0000-0000-7000-8000-00000000000a"),
    STR("1778000000000000"),
    STR("01920000-0000-7000-8000-0000000000ee"),
    STR("ping"),
    STR("200"),
    STR("allowed"),
    {NULL, 0},
    {NULL, 0},
    {NULL, 0},
    STR("777"),
};

static const char *hex(const uint8_t hash[SHA256_BYTES])
{
    static char text[2 * SHA256_BYTES + 1];

    hex_write(hash, SHA256_BYTES, text);
    return text;
}

Test(chain, hashes_an_entry_as_documented)
{
    uint8_t hash[SHA256_BYTES];

    chain_hash_entry(entry, &arena, hash);
    cr_assert_str_eq(hex(hash), "1d13565161091548d03323d58eaea5255a6d328ede6e5e3d1fa66999305060f7");
}

Test(chain, detects_every_change_of_a_field)
{
    uint8_t before[SHA256_BYTES], after[SHA256_BYTES];

    chain_hash_entry(entry, &arena, before);
    for (int i = 0; i < CHAIN_COLUMNS; i++) {
        struct str changed[CHAIN_COLUMNS];

        memcpy(changed, entry, sizeof(entry));
        changed[i] = entry[i].p == NULL ? STR("") : STR("another");
        chain_hash_entry(changed, &arena, after);
        cr_expect_neq(memcmp(before, after, sizeof(before)), 0, "field %d", i);
    }
}

static struct chain_block block_of(struct chain_item *items, size_t n)
{
    struct chain_block block = {
        .number = 2,
        .entries = 5,
        .last_xid = 777,
        .made_xid = 779,
        .made_us = 1778000001000000,
        .key_id = STR("00112233445566aa"),
        .items = items,
        .n = n,
    };

    cr_assert(uuid_parse(entry[CHAIN_ORGANIZATION_ID], &block.organization_id));
    memset(block.previous_hash, 0xAB, sizeof(block.previous_hash));
    for (size_t i = 0; i < n; i++) {
        memset(&items[i].request_id, (int)(0x10 + i), sizeof(items[i].request_id));
        memset(items[i].hash, (int)(0xC0 + i), sizeof(items[i].hash));
    }
    return block;
}

Test(chain, hashes_a_block_as_documented)
{
    struct chain_item items[2];
    struct chain_block block = block_of(items, 2);
    uint8_t hash[SHA256_BYTES];

    chain_hash_block(&block, &arena, hash);
    cr_assert_str_eq(hex(hash), "5c9db2ea02c5a435075474de292c1114b5627c9bc64ec17352375c8266c468b9");
}

Test(chain, detects_another_order_of_entries)
{
    struct chain_item items[2], first;
    struct chain_block block = block_of(items, 2);
    uint8_t before[SHA256_BYTES], after[SHA256_BYTES];

    chain_hash_block(&block, &arena, before);
    first = items[0];
    items[0] = items[1];
    items[1] = first;
    chain_hash_block(&block, &arena, after);
    cr_assert_neq(memcmp(before, after, sizeof(before)), 0);
}

Test(chain, takes_an_entry_for_ours_by_its_id_and_its_time)
{
    const int64_t now = 1778000000000000, second = 1000000;
    struct uuid id = uuid_v7(now);
    const int64_t made = uuid_v7_ms(&id) * 1000;

    cr_assert(chain_is_plausible(&id, made, 0, now));
    cr_assert(chain_is_plausible(&id, made, now + 59 * second, now));
    cr_assert(chain_is_plausible(&id, made, 0, now - 59 * second));
    cr_assert_not(chain_is_plausible(&id, made, now + 61 * second, now + 61 * second));
    cr_assert_not(chain_is_plausible(&id, made, 0, now - 61 * second));
    cr_assert_not(chain_is_plausible(&id, made + 1, 0, now));
    id.b[6] = 0x40 | (id.b[6] & 0xF);
    cr_assert_not(chain_is_plausible(&id, made, 0, now));
}

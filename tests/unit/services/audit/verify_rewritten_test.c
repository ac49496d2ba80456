/* Blocks that were altered, with their hash or signature made again. */
#include "common/base/ascii.h"
#include "tests/unit/services/audit/verify_fixture.h"

TestSuite(verify_rewritten, .init = start, .fini = stop);

Test(verify_rewritten, does_not_hold_entries_against_a_block_that_is_not_ours)
{
    blocks[0].signature[0] ^= 1;
    stored[0].is_there = false;
    stored[1].hash[0] ^= 1;
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 1, &sealed[0].place.request_id);
}

/* A copy of the second block's items, which the test may alter. */
static struct chain_item *spoil(void)
{
    struct chain_item *items = ARENA_ARRAY(&arena, struct chain_item, 2);

    memcpy(items, blocks[1].sealed.items, 2 * sizeof(*items));
    blocks[1].sealed.items = items;
    return items;
}

Test(verify_rewritten, finds_a_block_whose_contents_were_adapted)
{
    spoil()[0].hash[0] ^= 1;
    stored[3].hash[0] ^= 1;
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 2, &sealed[3].place.request_id);
}

Test(verify_rewritten, finds_a_block_that_was_hashed_again_without_the_key)
{
    struct signing_key *other = signing_key_new(SECRET ".");

    spoil()[0].hash[0] ^= 1;
    stored[3].hash[0] ^= 1;
    sign_again(&blocks[1], other);
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 2, &sealed[3].place.request_id);
    signing_key_free(other);
}

Test(verify_rewritten, finds_a_block_that_does_not_follow_the_previous_one)
{
    blocks[1].sealed.previous_hash[0] ^= 1;
    sign_again(&blocks[1], keys.own);
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 2, &sealed[3].place.request_id);
}

Test(verify_rewritten, finds_a_block_with_a_wrong_count)
{
    blocks[1].sealed.entries++;
    sign_again(&blocks[1], keys.own);
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 2, &sealed[3].place.request_id);
}

/* Even if the block is signed with our key: its published hash differs. */
Test(verify_rewritten, finds_a_chain_that_differs_from_a_published_head)
{
    uint8_t published[SHA256_BYTES];

    memcpy(published, blocks[1].hash, sizeof(published));
    spoil()[0].hash[0] ^= 1;
    stored[3].hash[0] ^= 1;
    sign_again(&blocks[1], keys.own);
    blocks[1].published_hash = published;
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 2, &sealed[3].place.request_id);
    blocks[1].published_hash = NULL;
    blocks[1].kept_hash = published;
    start_again();
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 2, &sealed[3].place.request_id);
}

Test(verify_rewritten, knows_the_keys_that_have_signed_before)
{
    struct signing_key *old = signing_key_new(SECRET ".");
    char hex[2 * SIGNING_PUBLIC_BYTES + 1];

    blocks[0].sealed.key_id = str_of(signing_key_public(old)->id);
    sign_again(&blocks[0], old);
    cr_assert_not(walk_one(0, 0));
    assert_found(VERIFY_REWRITTEN, 1, &sealed[0].place.request_id);
    start_again();
    hex_write(signing_key_public(old)->bytes, SIGNING_PUBLIC_BYTES, hex);
    signing_key_free(keys.own);
    cr_assert(audit_keys_read(SECRET, hex, &keys));
    cr_assert(walk_one(0, 0));
    signing_key_free(old);
}

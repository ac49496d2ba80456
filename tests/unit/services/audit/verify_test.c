/* What verifying finds, on chains that are made and spoilt in memory. */
#include "services/audit/verify.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ENTRIES = 5 };
#define SECRET "a signing key that is long enough for a test"

static struct arena arena;
static struct audit_keys keys;
static struct block_entry sealed[ENTRIES];
static struct verify_entry stored[ENTRIES];
static struct verify_block blocks[2]; /* of 3 entries and of 2 */
static struct verify_chain chain;
static struct verify_finding finding;

static struct verify_block view(const struct block_made *made, const struct verify_entry *entries)
{
    struct verify_block block = {.sealed = made->block, .entries = entries};
    const struct chain_block *of = &made->block;

    block.last_request_id = of->items[of->n - 1].request_id;
    memcpy(block.hash, made->hash, SHA256_BYTES);
    signing_make(keys.own,
                 chain_head_text(&of->organization_id, of->number, of->entries, made->hash, &arena),
                 block.signature);
    return block;
}

static void sign_again(struct verify_block *block, struct signing_key *with)
{
    const struct chain_block *of = &block->sealed;

    chain_hash_block(of, &arena, block->hash);
    signing_make(
        with, chain_head_text(&of->organization_id, of->number, of->entries, block->hash, &arena),
        block->signature);
}

static void start(void)
{
    const struct block_stamp stamp = {.made_xid = 50, .made_us = 1};
    struct block_stamp signed_by = stamp;
    struct block_head head;
    struct block_made *first, *second;

    arena_init(&arena, 16 << 20);
    cr_assert(audit_keys_read(SECRET, "", &keys));
    signed_by.key_id = str_of(keys.known[0].id);
    for (size_t i = 0; i < ENTRIES; i++) {
        sealed[i].place.xid = 10 + i;
        sealed[i].place.request_id = uuid_v7(1778000000000000 + (int64_t)i * 1000000);
        sealed[i].created_us = uuid_v7_ms(&sealed[i].place.request_id) * 1000;
        memset(sealed[i].hash, (int)i + 1, SHA256_BYTES);
        stored[i].is_there = true;
        memcpy(stored[i].hash, sealed[i].hash, SHA256_BYTES);
    }
    cr_assert_eq(blocks_make(sealed, 3, NULL, 0, &signed_by, &arena, &first), 1);
    head = (struct block_head){.number = 1, .entries = 3};
    memcpy(head.hash, first->hash, SHA256_BYTES);
    cr_assert_eq(blocks_make(sealed + 3, 2, &head, 1, &signed_by, &arena, &second), 1);
    blocks[0] = view(first, stored);
    blocks[1] = view(second, stored + 3);
    chain = (struct verify_chain){0};
    finding = (struct verify_finding){0};
}

static void stop(void)
{
    signing_key_free(keys.own);
    arena_release(&arena);
}

TestSuite(verify, .init = start, .fini = stop);

static bool walk(int64_t dropped_us)
{
    for (int i = 0; i < 2; i++)
        if (!verify_block(&chain, &blocks[i], &keys, dropped_us, &arena, &finding))
            return false;
    return true;
}

static void assert_found(enum verify_kind kind, int64_t block, const struct uuid *request_id)
{
    const struct uuid none = {{0}};

    cr_assert_eq(finding.kind, kind, "%s: %s", verify_kind_name(finding.kind), finding.detail);
    cr_assert_eq(finding.block, block, "%s", finding.detail);
    cr_assert(uuid_equal(&finding.request_id, request_id != NULL ? request_id : &none));
    cr_assert_not_null(finding.detail);
}

Test(verify, passes_a_chain_that_is_as_it_was_sealed)
{
    cr_assert(walk(0));
    cr_assert_eq(finding.kind, VERIFY_FINE);
    cr_assert_eq(chain.number, 2);
    cr_assert_eq(chain.entries, ENTRIES);
    cr_assert(verify_end(&chain, 2, &finding));
}

Test(verify, names_an_entry_that_was_changed)
{
    stored[4].hash[31] ^= 1;
    cr_assert_not(walk(0));
    assert_found(VERIFY_CHANGED, 2, &sealed[4].place.request_id);
}

Test(verify, names_an_entry_that_was_removed)
{
    stored[1].is_there = false;
    cr_assert_not(walk(0));
    assert_found(VERIFY_REMOVED, 1, &sealed[1].place.request_id);
}

Test(verify, names_the_first_of_two_that_were_swapped)
{
    struct verify_entry first = stored[0];

    stored[0] = stored[2];
    stored[2] = first;
    cr_assert_not(walk(0));
    assert_found(VERIFY_CHANGED, 1, &sealed[0].place.request_id);
}

Test(verify, does_not_miss_what_retention_has_dropped)
{
    stored[0].is_there = stored[1].is_there = false;
    cr_assert(walk(sealed[2].created_us));
    cr_assert_eq(chain.expired, 2);
    chain = (struct verify_chain){0};
    cr_assert_not(walk(sealed[1].created_us));
    assert_found(VERIFY_REMOVED, 1, &sealed[1].place.request_id);
}

/* Blocks here were made a microsecond after the epoch. */
#define A_DAY_US 86400000000

Test(verify, begins_at_the_last_block_that_retention_could_have_dropped)
{
    cr_assert(verify_block(&chain, &blocks[1], &keys, A_DAY_US + 2, &arena, &finding));
    cr_assert_eq(chain.entries, ENTRIES);
    cr_assert_eq(chain.expired, 3, "those of the block that was dropped");
}

Test(verify, misses_the_blocks_before_one_that_is_younger_than_what_was_dropped)
{
    cr_assert_not(verify_block(&chain, &blocks[1], &keys, A_DAY_US + 1, &arena, &finding));
    assert_found(VERIFY_REMOVED, 1, NULL);
}

Test(verify, misses_a_block_that_is_not_there)
{
    cr_assert_not(verify_block(&chain, &blocks[1], &keys, 0, &arena, &finding));
    assert_found(VERIFY_REMOVED, 1, NULL);
}

Test(verify, misses_the_blocks_below_a_published_head)
{
    cr_assert(walk(0));
    cr_assert_not(verify_end(&chain, 3, &finding));
    assert_found(VERIFY_REMOVED, 3, NULL);
}

Test(verify, says_of_a_given_head_whether_its_block_was_walked)
{
    blocks[1].kept_hash = blocks[1].hash;
    cr_assert(walk(0));
    cr_assert(verify_given_head(&chain, 2, &finding));
    /* Retention has taken the first. */
    blocks[1].kept_hash = NULL;
    chain = (struct verify_chain){0};
    cr_assert(verify_block(&chain, &blocks[1], &keys, A_DAY_US + 2, &arena, &finding));
    cr_assert_not(verify_given_head(&chain, 1, &finding));
    assert_found(VERIFY_NOT_COMPARED, 1, NULL);
}

/* The items of the second block, to be spoilt. */
static struct chain_item *spoil(void)
{
    struct chain_item *items = ARENA_ARRAY(&arena, struct chain_item, 2);

    memcpy(items, blocks[1].sealed.items, 2 * sizeof(*items));
    blocks[1].sealed.items = items;
    return items;
}

Test(verify, tells_a_block_whose_contents_were_adapted)
{
    spoil()[0].hash[0] ^= 1;
    stored[3].hash[0] ^= 1;
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 2, &sealed[3].place.request_id);
}

Test(verify, tells_a_block_that_was_hashed_again_by_somebody_without_the_key)
{
    struct signing_key *other = signing_key_new(SECRET ".");

    spoil()[0].hash[0] ^= 1;
    stored[3].hash[0] ^= 1;
    sign_again(&blocks[1], other);
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 2, &sealed[3].place.request_id);
    signing_key_free(other);
}

Test(verify, tells_a_block_that_does_not_follow_the_one_before)
{
    blocks[1].sealed.previous_hash[0] ^= 1;
    sign_again(&blocks[1], keys.own);
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 2, &sealed[3].place.request_id);
}

Test(verify, tells_a_block_that_counts_wrongly)
{
    blocks[1].sealed.entries++;
    sign_again(&blocks[1], keys.own);
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 2, &sealed[3].place.request_id);
}

/* Even with the key: another hash is known of it. */
Test(verify, tells_a_chain_that_differs_from_a_head_that_was_published)
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
    chain = (struct verify_chain){0};
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 2, &sealed[3].place.request_id);
}

Test(verify, knows_the_keys_that_have_signed_before)
{
    struct signing_key *old = signing_key_new(SECRET ".");
    char hex[2 * SIGNING_PUBLIC_BYTES + 1];

    blocks[0].sealed.key_id = str_of(signing_key_public(old)->id);
    sign_again(&blocks[0], old);
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 1, &sealed[0].place.request_id);
    crypto_hex(signing_key_public(old)->bytes, SIGNING_PUBLIC_BYTES, hex);
    signing_key_free(keys.own);
    cr_assert(audit_keys_read(SECRET, hex, &keys));
    cr_assert(verify_block(&chain, &blocks[0], &keys, 0, &arena, &finding), "%s", finding.detail);
    signing_key_free(old);
}

Test(verify, names_an_entry_that_no_block_names)
{
    struct verify_covered covered = {.entry = sealed[2], .block = 1, .is_sealed = true};
    const struct verify_seal seal = {.place = sealed[4].place, .now_us = covered.entry.created_us};
    bool is_waiting;

    cr_assert(verify_covered(&covered, &seal, &is_waiting, &finding));
    cr_assert_not(is_waiting);
    covered.is_sealed = false;
    cr_assert_not(verify_covered(&covered, &seal, &is_waiting, &finding));
    assert_found(VERIFY_SLIPPED_IN, 1, &covered.entry.place.request_id);
}

static void expect_slipped_in(const struct verify_covered *covered, const struct verify_seal *seal)
{
    bool is_waiting;

    cr_assert_not(verify_covered(covered, seal, &is_waiting, &finding));
    cr_assert_not(is_waiting);
    assert_found(VERIFY_SLIPPED_IN, 0, &covered->entry.place.request_id);
}

Test(verify, lets_an_entry_wait_for_its_seal_if_a_service_can_have_appended_it)
{
    const struct verify_covered covered = {.entry = sealed[4]};
    const int64_t now_us = covered.entry.created_us;
    struct verify_seal seal = {.place = sealed[3].place, .now_us = now_us};
    struct verify_covered other = covered;
    bool is_waiting;

    cr_assert(verify_covered(&covered, &seal, &is_waiting, &finding));
    cr_assert(is_waiting);
    other.entry.created_us += 1000;
    expect_slipped_in(&other, &seal);
    other = covered;
    other.is_ahead = true;
    expect_slipped_in(&other, &seal);
    /* A minute for the clocks. */
    seal.made_us = now_us + 60000000;
    seal.made_xid = covered.entry.place.xid - 1;
    cr_assert(verify_covered(&covered, &seal, &is_waiting, &finding));
    seal.made_us++;
    expect_slipped_in(&covered, &seal);
    seal.made_xid++;
    cr_assert(verify_covered(&covered, &seal, &is_waiting, &finding), "it may have begun before");
}

/*
 * verify_fixture - a chain of two blocks in memory, and what verifying it finds. Header-only.
 */
#ifndef TESTS_UNIT_SERVICES_AUDIT_VERIFY_FIXTURE_H
#define TESTS_UNIT_SERVICES_AUDIT_VERIFY_FIXTURE_H

#include <criterion/criterion.h>
#include <string.h>

#include "services/audit/verify.h"

enum { ENTRIES = 5 };
#define SECRET "a signing key that is long enough for a test"

static struct arena arena;
static struct audit_keys keys;
static struct block_entry sealed[ENTRIES];
static struct verify_entry stored[ENTRIES];
static struct verify_block blocks[2]; /* of 3 entries and of 2 */
static struct verify_chain chain;
static struct verify_report report;

static inline struct verify_block view(const struct block_made *made,
                                       const struct verify_entry *entries)
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

static inline void sign_again(struct verify_block *block, struct signing_key *with)
{
    const struct chain_block *of = &block->sealed;

    chain_hash_block(of, &arena, block->hash);
    signing_make(
        with, chain_head_text(&of->organization_id, of->number, of->entries, block->hash, &arena),
        block->signature);
}

static inline void start(void)
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
    report = (struct verify_report){.first = VERIFY_CHANGED};
}

static inline void stop(void)
{
    signing_key_free(keys.own);
    arena_release(&arena);
}

/* Resets the walk and its findings. */
static inline void start_again(void)
{
    chain = (struct verify_chain){0};
    report = (struct verify_report){.first = VERIFY_CHANGED};
}

static inline bool walk_one(int block, int64_t dropped_us)
{
    verify_block(&chain, &blocks[block], &keys, dropped_us, &arena, &report);
    return verify_is_fine(&report);
}

static inline bool walk(int64_t dropped_us)
{
    for (int i = 0; i < 2; i++)
        (void)walk_one(i, dropped_us);
    return verify_is_fine(&report);
}

static inline void assert_first(enum verify_kind kind, int64_t block, const struct uuid *request_id)
{
    const struct verify_finding *finding = &report.of[kind];
    const struct uuid none = {{0}};

    cr_assert_not(verify_is_fine(&report));
    cr_assert_eq(report.first, kind, "%s", verify_kind_name(report.first));
    cr_assert_eq(finding->block, block, "%.*s", STR_ARG(finding->detail));
    cr_assert(uuid_equal(&finding->request_id, request_id != NULL ? request_id : &none));
    cr_assert_gt(finding->detail.n, 0);
}

static inline int64_t count_of_all(void)
{
    int64_t n = 0;

    for (int kind = 0; kind < VERIFY_KINDS; kind++)
        n += report.of[kind].count;
    return n;
}

/* Expects this finding and no other. */
static inline void assert_found(enum verify_kind kind, int64_t block, const struct uuid *request_id)
{
    assert_first(kind, block, request_id);
    cr_assert_eq(count_of_all(), 1);
}

/* Blocks here were made a microsecond after the epoch. */
#define A_DAY_US 86400000000

#endif

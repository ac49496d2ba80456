/* What verifying finds, on chains that are made and spoilt in memory. */
#include "services/audit/verify.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ENTRIES = 5, NOTES = 3 };
#define SECRET "a signing key that is long enough for a test"

static struct arena arena;
static struct audit_keys keys;
static struct block_entry sealed[ENTRIES];
static struct verify_entry stored[ENTRIES];
static struct verify_block blocks[2]; /* of 3 entries and of 2 */
static struct verify_chain chain;
static struct verify_report report;

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
    report = (struct verify_report){.first = VERIFY_CHANGED};
}

static void stop(void)
{
    signing_key_free(keys.own);
    arena_release(&arena);
}

TestSuite(verify, .init = start, .fini = stop);

/* What was found before is forgotten. */
static void start_again(void)
{
    chain = (struct verify_chain){0};
    report = (struct verify_report){.first = VERIFY_CHANGED};
}

static bool walk_one(int block, int64_t dropped_us)
{
    verify_block(&chain, &blocks[block], &keys, dropped_us, &arena, &report);
    return verify_is_fine(&report);
}

static bool walk(int64_t dropped_us)
{
    for (int i = 0; i < 2; i++)
        (void)walk_one(i, dropped_us);
    return verify_is_fine(&report);
}

static void assert_first(enum verify_kind kind, int64_t block, const struct uuid *request_id)
{
    const struct verify_finding *finding = &report.of[kind];
    const struct uuid none = {{0}};

    cr_assert_not(verify_is_fine(&report));
    cr_assert_eq(report.first, kind, "%s", verify_kind_name(report.first));
    cr_assert_eq(finding->block, block, "%.*s", STR_ARG(finding->detail));
    cr_assert(uuid_equal(&finding->request_id, request_id != NULL ? request_id : &none));
    cr_assert_gt(finding->detail.n, 0);
}

static int64_t count_of_all(void)
{
    int64_t n = 0;

    for (int kind = 0; kind < VERIFY_KINDS; kind++)
        n += report.of[kind].count;
    return n;
}

/* And nothing else was found. */
static void assert_found(enum verify_kind kind, int64_t block, const struct uuid *request_id)
{
    assert_first(kind, block, request_id);
    cr_assert_eq(count_of_all(), 1);
}

Test(verify, passes_a_chain_that_is_as_it_was_sealed)
{
    cr_assert(walk(0));
    cr_assert_eq(count_of_all(), 0);
    cr_assert_eq(chain.present, ENTRIES);
    cr_assert_eq(chain.number, 2);
    cr_assert_eq(chain.entries, ENTRIES);
    verify_end(&chain, 2, 2, &report);
    verify_count(&chain, ENTRIES, true, &report);
    cr_assert(verify_is_fine(&report));
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
    assert_first(VERIFY_CHANGED, 1, &sealed[0].place.request_id);
    cr_assert_eq(report.of[VERIFY_CHANGED].count, 2);
    cr_assert_eq(count_of_all(), 2);
}

Test(verify, goes_on_after_a_finding_and_counts_each_kind)
{
    stored[0].is_there = stored[3].is_there = false;
    stored[1].hash[0] ^= 1;
    stored[4].hash[0] ^= 1;
    cr_assert_not(walk(0));
    assert_first(VERIFY_REMOVED, 1, &sealed[0].place.request_id);
    cr_assert_eq(report.of[VERIFY_REMOVED].count, 2);
    cr_assert_eq(report.of[VERIFY_CHANGED].count, 2);
    cr_assert(uuid_equal(&report.of[VERIFY_CHANGED].request_id, &sealed[1].place.request_id));
    cr_assert_eq(chain.present, 3);
    cr_assert_eq(chain.entries, ENTRIES, "the blocks are sound");
}

Test(verify, goes_on_behind_a_block_that_cannot_be_read)
{
    verify_malformed(&chain, 1, &report);
    assert_found(VERIFY_REWRITTEN, 1, NULL);
    stored[3].is_there = false;
    (void)walk_one(1, 0);
    cr_assert_eq(report.of[VERIFY_REWRITTEN].count, 1, "nothing is known to hold it against");
    cr_assert_eq(report.of[VERIFY_REMOVED].count, 1);
    cr_assert_eq(chain.entries, ENTRIES);
}

Test(verify, does_not_hold_entries_against_a_block_that_is_not_ours)
{
    blocks[0].signature[0] ^= 1;
    stored[0].is_there = false;
    stored[1].hash[0] ^= 1;
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 1, &sealed[0].place.request_id);
}

Test(verify, tells_of_entries_that_were_sealed_with_a_mark)
{
    const struct block_stamp stamp = {
        .made_xid = 50, .made_us = 1, .key_id = str_of(keys.known[0].id)};
    struct block_made *made;

    sealed[1].is_implausible = true;
    cr_assert_eq(blocks_make(sealed, 3, NULL, 0, &stamp, &arena, &made), 1);
    blocks[0] = view(made, stored);
    cr_assert_not(walk_one(0, 0));
    assert_found(VERIFY_IMPLAUSIBLE, 1, &sealed[1].place.request_id);
    /* Nobody takes the mark away, nor gives one. */
    start_again();
    blocks[0].sealed.n_marks = 0;
    cr_assert_not(walk_one(0, 0));
    assert_found(VERIFY_REWRITTEN, 1, &sealed[0].place.request_id);
}

Test(verify, counts_what_it_met_against_what_the_blocks_name)
{
    cr_assert(walk(0));
    verify_count(&chain, ENTRIES - 1, false, &report);
    cr_assert(verify_is_fine(&report), "retention took it meanwhile");
    verify_count(&chain, ENTRIES - 1, true, &report);
    assert_found(VERIFY_REMOVED, 0, NULL);
    report = (struct verify_report){.first = VERIFY_CHANGED};
    verify_count(&chain, ENTRIES + 1, false, &report);
    assert_found(VERIFY_INSERTED, 0, NULL);
}

Test(verify, does_not_miss_what_retention_has_dropped)
{
    stored[0].is_there = stored[1].is_there = false;
    cr_assert(walk(sealed[2].created_us));
    cr_assert_eq(chain.expired, 2);
    start_again();
    cr_assert_not(walk(sealed[1].created_us));
    assert_found(VERIFY_REMOVED, 1, &sealed[1].place.request_id);
}

/* Blocks here were made a microsecond after the epoch. */
#define A_DAY_US 86400000000

Test(verify, begins_at_the_last_block_that_retention_could_have_dropped)
{
    cr_assert(walk_one(1, A_DAY_US + 2));
    cr_assert_eq(chain.entries, ENTRIES);
    cr_assert_eq(chain.expired, 3, "those of the block that was dropped");
}

Test(verify, misses_the_blocks_before_one_that_is_younger_than_what_was_dropped)
{
    cr_assert_not(walk_one(1, A_DAY_US + 1));
    assert_found(VERIFY_REMOVED, 1, NULL);
}

Test(verify, misses_a_block_that_is_not_there)
{
    cr_assert_not(walk_one(1, 0));
    assert_found(VERIFY_REMOVED, 1, NULL);
}

Test(verify, misses_the_blocks_below_a_published_head)
{
    cr_assert(walk(0));
    verify_end(&chain, 3, 0, &report);
    assert_found(VERIFY_REMOVED, 3, NULL);
    cr_assert_not_null(strstr(report.of[VERIFY_REMOVED].detail.p, "published"));
}

Test(verify, misses_the_blocks_below_a_given_head)
{
    cr_assert(walk(0));
    verify_end(&chain, 2, 3, &report);
    assert_found(VERIFY_REMOVED, 3, NULL);
    cr_assert_not_null(strstr(report.of[VERIFY_REMOVED].detail.p, "given"));
}

Test(verify, says_of_a_given_head_whether_its_block_was_walked)
{
    blocks[1].kept_hash = blocks[1].hash;
    cr_assert(walk(0));
    verify_given_head(&chain, 2, &report);
    cr_assert(verify_is_fine(&report));
    /* Retention has taken the first. */
    blocks[1].kept_hash = NULL;
    start_again();
    cr_assert(walk_one(1, A_DAY_US + 2));
    verify_given_head(&chain, 1, &report);
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
    start_again();
    cr_assert_not(walk(0));
    assert_found(VERIFY_REWRITTEN, 2, &sealed[3].place.request_id);
}

Test(verify, knows_the_keys_that_have_signed_before)
{
    struct signing_key *old = signing_key_new(SECRET ".");
    char hex[2 * SIGNING_PUBLIC_BYTES + 1];

    blocks[0].sealed.key_id = str_of(signing_key_public(old)->id);
    sign_again(&blocks[0], old);
    cr_assert_not(walk_one(0, 0));
    assert_found(VERIFY_REWRITTEN, 1, &sealed[0].place.request_id);
    start_again();
    crypto_hex(signing_key_public(old)->bytes, SIGNING_PUBLIC_BYTES, hex);
    signing_key_free(keys.own);
    cr_assert(audit_keys_read(SECRET, hex, &keys));
    cr_assert(walk_one(0, 0));
    signing_key_free(old);
}

/* True: it counts as sealed. */
static bool look_at(const struct verify_covered *covered, const struct verify_seal *seal)
{
    report = (struct verify_report){.first = VERIFY_CHANGED};
    return verify_covered(covered, seal, &report);
}

static void expect_found(const struct verify_covered *covered, const struct verify_seal *seal,
                         enum verify_kind kind)
{
    (void)look_at(covered, seal);
    assert_found(kind, covered->block, &covered->entry.place.request_id);
}

Test(verify, names_an_entry_that_no_block_names)
{
    struct verify_covered covered = {.entry = sealed[2], .block = 1, .is_sealed = true};
    const struct verify_seal seal = {
        .place = sealed[4].place, .now_us = covered.entry.created_us, .walked = 2};

    cr_assert(look_at(&covered, &seal));
    cr_assert(verify_is_fine(&report));
    covered.is_sealed = false;
    cr_assert_not(look_at(&covered, &seal));
    expect_found(&covered, &seal, VERIFY_INSERTED);
    covered.is_known = true;
    expect_found(&covered, &seal, VERIFY_INSERTED);
}

Test(verify, names_a_sealed_entry_that_was_moved_in_time_unless_it_was_sealed_so)
{
    struct verify_covered covered = {.entry = sealed[2], .block = 1, .is_sealed = true};
    struct verify_seal seal = {
        .place = sealed[4].place, .now_us = covered.entry.created_us, .walked = 2};

    covered.entry.created_us -= 3600000000;
    expect_found(&covered, &seal, VERIFY_INSERTED);
    covered.entry.is_implausible = true;
    cr_assert(look_at(&covered, &seal));
    cr_assert(verify_is_fine(&report), "its block has told of it");
    seal.walked = 0;
    expect_found(&covered, &seal, VERIFY_IMPLAUSIBLE);
}

Test(verify, lets_an_entry_wait_for_its_seal_if_a_service_can_have_appended_it)
{
    const struct verify_covered covered = {.entry = sealed[4]};
    const int64_t now_us = covered.entry.created_us;
    struct verify_seal seal = {.place = sealed[3].place, .now_us = now_us};
    struct verify_covered other = covered;

    cr_assert_not(look_at(&covered, &seal));
    cr_assert(verify_is_fine(&report));
    other.entry.created_us += 1000;
    expect_found(&other, &seal, VERIFY_IMPLAUSIBLE);
    other = covered;
    other.is_ahead = true;
    expect_found(&other, &seal, VERIFY_INSERTED);
    other = covered;
    other.is_unreadable = true;
    expect_found(&other, &seal, VERIFY_INSERTED);
    /* A minute for the clocks. */
    seal.made_us = now_us + 60000000;
    seal.made_xid = covered.entry.place.xid - 1;
    cr_assert_not(look_at(&covered, &seal));
    cr_assert(verify_is_fine(&report));
    seal.made_us++;
    expect_found(&covered, &seal, VERIFY_IMPLAUSIBLE);
    seal.made_xid++;
    cr_assert_not(look_at(&covered, &seal));
    cr_assert(verify_is_fine(&report), "it may have begun before");
}

Test(verify, tells_of_entries_that_have_waited_for_their_seal_for_a_minute)
{
    struct verify_covered covered = {.entry = sealed[4]};
    const struct verify_seal seal = {.place = sealed[3].place,
                                     .now_us = covered.entry.created_us + VERIFY_WAIT_US};
    struct verify_seal later = seal;

    cr_assert_not(look_at(&covered, &seal));
    cr_assert_eq(count_of_all(), 0);
    later.now_us += 40 * INT64_C(1000000);
    expect_found(&covered, &later, VERIFY_NOT_SEALED);
    cr_assert_eq(report.of[VERIFY_NOT_SEALED].age_s, 100);
    start_again();
    (void)verify_covered(&covered, &later, &report);
    later.now_us -= 1000000;
    (void)verify_covered(&covered, &later, &report);
    cr_assert_eq(report.of[VERIFY_NOT_SEALED].count, 2);
    cr_assert_eq(report.of[VERIFY_NOT_SEALED].age_s, 100, "of the oldest");
    covered.entry.created_us -= 1;
    expect_found(&covered, &later, VERIFY_IMPLAUSIBLE);
}

/* A partition holds what has its time, whatever the time in the id. */
Test(verify, judges_by_the_time_of_a_mark_what_retention_has_dropped)
{
    struct chain_mark mark = {.place = 1, .created_us = 1000};
    const int64_t id_us = sealed[0].created_us;

    blocks[0].sealed.marks = &mark;
    blocks[0].sealed.n_marks = 1;
    stored[0].is_there = false;
    sign_again(&blocks[0], keys.own);
    (void)walk_one(0, 1001);
    cr_assert_eq(report.of[VERIFY_REMOVED].count, 0);
    cr_assert_eq(chain.expired, 1);
    start_again();
    (void)walk_one(0, 1000);
    cr_assert_eq(report.of[VERIFY_REMOVED].count, 1);

    mark.created_us = id_us + 2000;
    sign_again(&blocks[0], keys.own);
    start_again();
    (void)walk_one(0, id_us + 1);
    cr_assert_eq(report.of[VERIFY_REMOVED].count, 1, "its month is there");
}

Test(verify, misses_no_block_that_retention_has_dropped_wherever_the_walk_is)
{
    struct verify_block later = blocks[1];

    later.sealed.number = 5;
    later.sealed.entries = 12;
    sign_again(&later, keys.own);
    /* From a block that is gone. */
    chain.number = 2;
    chain.is_broken = true;
    verify_block(&chain, &later, &keys, A_DAY_US + 2, &arena, &report);
    cr_assert_eq(count_of_all(), 0);
    /* While it is walked. */
    start_again();
    cr_assert(walk_one(0, A_DAY_US + 2));
    verify_block(&chain, &later, &keys, A_DAY_US + 2, &arena, &report);
    cr_assert_eq(count_of_all(), 0);
    cr_assert_eq(chain.expired, 12 - 2 - 3);
    /* One that was made later than what was dropped. */
    start_again();
    cr_assert(walk_one(0, A_DAY_US + 1));
    verify_block(&chain, &later, &keys, A_DAY_US + 1, &arena, &report);
    cr_assert_eq(report.of[VERIFY_REMOVED].count, 1);
}

/* -- what retention has noted ----------------------------------------------------------------- */

enum { NOT_KNOWN = -1 };
static struct note notes[NOTES]; /* the latest first */

static void make_notes(void)
{
    for (int i = 0; i < NOTES; i++) {
        notes[i] = (struct note){.until_us = (NOTES - i) * 100,
                                 .since_us = (NOTES - i - 1) * 100,
                                 .months = 3,
                                 .dropped_us = (NOTES - i) * 100 + 50,
                                 .dropped_by = STR("audit-0"),
                                 .is_old = true};
        note_sign(&notes[i], &keys, &arena);
    }
}

static void look_at_notes(size_t from, size_t n)
{
    start_again();
    verify_notes(notes + from, n, &keys, &arena, &report);
}

/* What a note up to then would follow. */
static int64_t last_before(int64_t until_us, size_t from, size_t n)
{
    int64_t since_us;

    return notes_last(notes + from, n, until_us, &keys, &arena, &since_us) ? since_us : NOT_KNOWN;
}

Test(verify, passes_notes_that_are_as_they_were_signed)
{
    make_notes();
    look_at_notes(0, NOTES);
    cr_assert_eq(count_of_all(), 0);
    cr_assert_eq(notes_reach(notes, NOTES, &keys, &arena), 300);
    cr_assert_eq(last_before(400, 0, NOTES), 300);
    cr_assert_eq(last_before(300, 0, NOTES), 200);
}

Test(verify, tells_a_note_that_was_altered_whatever_it_was)
{
    for (int what = 0; what < 6; what++) {
        make_notes();
        notes[0].until_us += what == 0;
        notes[0].since_us -= what == 1 ? 100 : 0;
        notes[0].months += what == 2;
        notes[0].dropped_us += what == 3;
        if (what == 4)
            notes[0].dropped_by = STR("another");
        notes[0].signature[63] ^= what == 5;
        look_at_notes(0, NOTES);
        assert_found(VERIFY_FORGED_NOTE, 0, NULL);
        cr_assert_eq(notes_reach(notes, NOTES, &keys, &arena), 200, "it vouches for nothing");
    }
}

Test(verify, misses_a_note_that_a_later_one_names)
{
    make_notes();
    look_at_notes(0, NOTES - 1);
    assert_found(VERIFY_REMOVED, 0, NULL);
}

/* They are there when a database is upgraded; nothing tells one from a note that somebody adds. */
Test(verify, tells_of_notes_that_are_not_signed_unless_signed_ones_came_behind)
{
    make_notes();
    notes[2].is_signed = notes[1].is_signed = false;
    look_at_notes(1, 2);
    cr_assert_eq(report.of[VERIFY_UNSIGNED_NOTE].count, 2);
    cr_assert_eq(count_of_all(), 2);
    cr_assert_eq(notes_reach(notes + 1, 2, &keys, &arena), 200);
    cr_assert_eq(last_before(300, 1, 2), 0);

    notes[0].since_us = 0;
    note_sign(&notes[0], &keys, &arena);
    look_at_notes(0, NOTES);
    cr_assert_eq(count_of_all(), 0);

    make_notes();
    notes[1].is_signed = false;
    look_at_notes(0, NOTES);
    cr_assert_eq(report.of[VERIFY_UNSIGNED_NOTE].count, 1, "it was signed once");
    notes[0].is_signed = notes[0].is_old = false;
    cr_assert_eq(notes_reach(notes, 1, &keys, &arena), 0, "retention does not drop so early");
}

Test(verify, knows_the_keys_that_have_signed_notes_before)
{
    char former[2 * SIGNING_PUBLIC_BYTES + 1];

    make_notes();
    crypto_hex(keys.known[0].bytes, SIGNING_PUBLIC_BYTES, former);
    signing_key_free(keys.own);
    cr_assert(audit_keys_read("another key, which is long enough too", "", &keys));
    look_at_notes(0, NOTES);
    cr_assert_eq(report.of[VERIFY_FORGED_NOTE].count, NOTES);
    cr_assert_eq(notes_reach(notes, NOTES, &keys, &arena), 0);
    cr_assert_eq(last_before(400, 0, NOTES), NOT_KNOWN, "another replica goes on");
    note_sign(&notes[0], &keys, &arena);
    cr_assert_eq(last_before(400, 0, NOTES), 300);
    cr_assert_eq(last_before(300, 0, NOTES), NOT_KNOWN);
    cr_assert_eq(last_before(100, 0, NOTES), 0, "they reach further: there is none before");
    signing_key_free(keys.own);
    cr_assert(audit_keys_read("another key, which is long enough too", former, &keys));
    look_at_notes(0, NOTES);
    cr_assert_eq(count_of_all(), 0);
    cr_assert_eq(notes_reach(notes, NOTES, &keys, &arena), 300);
}

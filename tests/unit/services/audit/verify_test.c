/* What verifying finds in entries, blocks and heads of a chain made and altered in memory. */
#include "tests/unit/services/audit/verify_fixture.h"

TestSuite(verify, .init = start, .fini = stop);

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

Test(verify, continues_after_a_finding_and_counts_each_kind)
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

Test(verify, continues_after_a_block_that_cannot_be_read)
{
    verify_malformed(&chain, 1, &report);
    assert_found(VERIFY_REWRITTEN, 1, NULL);
    stored[3].is_there = false;
    (void)walk_one(1, 0);
    cr_assert_eq(report.of[VERIFY_REWRITTEN].count, 1, "there is nothing to compare it with");
    cr_assert_eq(report.of[VERIFY_REMOVED].count, 1);
    cr_assert_eq(chain.entries, ENTRIES);
}

Test(verify, reports_entries_that_were_sealed_with_a_mark)
{
    const struct block_stamp stamp = {
        .made_xid = 50, .made_us = 1, .key_id = str_of(keys.known[0].id)};
    struct block_made *made;

    sealed[1].is_implausible = true;
    cr_assert_eq(blocks_make(sealed, 3, NULL, 0, &stamp, &arena, &made), 1);
    blocks[0] = view(made, stored);
    cr_assert_not(walk_one(0, 0));
    assert_found(VERIFY_MISDATED, 1, &sealed[1].place.request_id);
    /* A block without its mark is found, too. */
    start_again();
    blocks[0].sealed.n_marks = 0;
    cr_assert_not(walk_one(0, 0));
    assert_found(VERIFY_REWRITTEN, 1, &sealed[0].place.request_id);
}

Test(verify, compares_the_number_of_entries_with_that_in_the_blocks)
{
    cr_assert(walk(0));
    verify_count(&chain, ENTRIES - 1, false, &report);
    cr_assert(verify_is_fine(&report), "retention has dropped it in the meantime");
    verify_count(&chain, ENTRIES - 1, true, &report);
    assert_found(VERIFY_REMOVED, 0, NULL);
    report = (struct verify_report){.first = VERIFY_CHANGED};
    verify_count(&chain, ENTRIES + 1, false, &report);
    assert_found(VERIFY_INSERTED, 0, NULL);
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
    /* Retention has dropped the first block. */
    blocks[1].kept_hash = NULL;
    start_again();
    cr_assert(walk_one(1, A_DAY_US + 2));
    verify_given_head(&chain, 1, &report);
    assert_found(VERIFY_NOT_COMPARED, 1, NULL);
}

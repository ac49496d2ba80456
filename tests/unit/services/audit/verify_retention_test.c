/* Verifying reports missing entries and blocks, but not those that retention has dropped. */
#include "tests/unit/services/audit/verify_fixture.h"

TestSuite(verify_retention, .init = start, .fini = stop);

Test(verify_retention, does_not_miss_what_retention_has_dropped)
{
    stored[0].is_there = stored[1].is_there = false;
    cr_assert(walk(sealed[2].created_us));
    cr_assert_eq(chain.expired, 2);
    start_again();
    cr_assert_not(walk(sealed[1].created_us));
    assert_found(VERIFY_REMOVED, 1, &sealed[1].place.request_id);
}

Test(verify_retention, begins_at_the_last_block_that_retention_could_have_dropped)
{
    cr_assert(walk_one(1, A_DAY_US + 2));
    cr_assert_eq(chain.entries, ENTRIES);
    cr_assert_eq(chain.expired, 3, "those of the block that was dropped");
}

Test(verify_retention, misses_the_blocks_before_one_that_is_younger_than_what_was_dropped)
{
    cr_assert_not(walk_one(1, A_DAY_US + 1));
    assert_found(VERIFY_REMOVED, 1, NULL);
}

/* An entry's own time decides its partition, whatever the time in its id. */
Test(verify_retention, judges_dropped_entries_by_the_time_of_their_mark)
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

Test(verify_retention, misses_no_block_that_retention_has_dropped_wherever_the_walk_is)
{
    struct verify_block later = blocks[1];

    later.sealed.number = 5;
    later.sealed.entries = 12;
    sign_again(&later, keys.own);
    /* After a block that is gone. */
    chain.number = 2;
    chain.is_broken = true;
    verify_block(&chain, &later, &keys, A_DAY_US + 2, &arena, &report);
    cr_assert_eq(count_of_all(), 0);
    /* In the middle of a walk. */
    start_again();
    cr_assert(walk_one(0, A_DAY_US + 2));
    verify_block(&chain, &later, &keys, A_DAY_US + 2, &arena, &report);
    cr_assert_eq(count_of_all(), 0);
    cr_assert_eq(chain.expired, 12 - 2 - 3);
    /* The missing blocks may be later than what was dropped. */
    start_again();
    cr_assert(walk_one(0, A_DAY_US + 1));
    verify_block(&chain, &later, &keys, A_DAY_US + 1, &arena, &report);
    cr_assert_eq(report.of[VERIFY_REMOVED].count, 1);
}

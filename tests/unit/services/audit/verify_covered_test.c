/* A stored entry, compared with what is sealed. */
#include "tests/unit/services/audit/verify_fixture.h"

TestSuite(verify_covered, .init = start, .fini = stop);

/* True: the entry counts as sealed. */
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

Test(verify_covered, names_an_entry_that_no_block_names)
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

Test(verify_covered, names_a_sealed_entry_that_was_moved_in_time_unless_it_was_sealed_so)
{
    struct verify_covered covered = {.entry = sealed[2], .block = 1, .is_sealed = true};
    struct verify_seal seal = {
        .place = sealed[4].place, .now_us = covered.entry.created_us, .walked = 2};

    covered.entry.created_us -= 3600000000;
    expect_found(&covered, &seal, VERIFY_INSERTED);
    covered.entry.is_implausible = true;
    cr_assert(look_at(&covered, &seal));
    cr_assert(verify_is_fine(&report), "its block has reported it");
    seal.walked = 0;
    expect_found(&covered, &seal, VERIFY_IMPLAUSIBLE);
    covered.entry.created_us += 3600000000;
    expect_found(&covered, &seal, VERIFY_MISDATED);
}

Test(verify_covered, accepts_an_unsealed_entry_that_a_service_can_have_appended)
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
    /* Clocks may differ by a minute. */
    seal.made_us = now_us + 60000000;
    seal.made_xid = covered.entry.place.xid - 1;
    cr_assert_not(look_at(&covered, &seal));
    cr_assert(verify_is_fine(&report));
    seal.made_us++;
    expect_found(&covered, &seal, VERIFY_MISDATED);
    seal.made_xid++;
    cr_assert_not(look_at(&covered, &seal));
    cr_assert(verify_is_fine(&report), "it may have begun before");
}

/* The seal has gone on with other organizations. It never passes over an entry below a block of the
   same organization. */
Test(verify_covered, accepts_an_unsealed_entry_that_was_skipped_in_a_move)
{
    struct verify_covered covered = {.entry = sealed[3], .is_moving = true};
    struct verify_seal seal = {.place = sealed[4].place, .now_us = covered.entry.created_us};

    cr_assert_not(look_at(&covered, &seal));
    cr_assert(verify_is_fine(&report));
    seal.now_us += VERIFY_WAIT_US + 1;
    expect_found(&covered, &seal, VERIFY_NOT_SEALED);
    cr_assert(str_equal(report.of[VERIFY_NOT_SEALED].detail,
                        STR("the entry is not sealed until the organization's move between cells "
                            "resumes, and cannot be checked")));
    covered.is_moving = false;
    expect_found(&covered, &seal, VERIFY_INSERTED);
    covered.is_moving = true;
    covered.block = 2;
    expect_found(&covered, &seal, VERIFY_INSERTED);
}

Test(verify_covered, reports_entries_that_have_been_unsealed_for_a_minute)
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

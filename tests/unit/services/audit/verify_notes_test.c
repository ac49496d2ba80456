/* Verifying retention notes. */
#include "common/base/ascii.h"
#include "tests/unit/services/audit/verify_fixture.h"

TestSuite(verify_notes, .init = start, .fini = stop);

enum { NOTES = 3, NOT_KNOWN = -1 };
static struct note notes[NOTES]; /* the latest first */

static void make_notes(void)
{
    for (int i = 0; i < NOTES; i++) {
        notes[i] = (struct note){.until_us = (NOTES - i) * 100,
                                 .since_us = (NOTES - i - 1) * 100,
                                 .months = 3,
                                 .dropped_us = (NOTES - i) * 100 + 50,
                                 .dropped_by = STR("audit-0")};
        note_sign(&notes[i], &keys, &arena);
    }
}

static void look_at_notes(size_t from, size_t n)
{
    start_again();
    verify_notes(notes + from, n, &keys, &arena, &report);
}

/* Where a new note up to `until_us` would begin. */
static int64_t last_before(int64_t until_us, size_t from, size_t n)
{
    int64_t since_us;

    return notes_last(notes + from, n, until_us, &keys, &arena, &since_us) ? since_us : NOT_KNOWN;
}

Test(verify_notes, passes_notes_that_are_as_they_were_signed)
{
    make_notes();
    look_at_notes(0, NOTES);
    cr_assert_eq(count_of_all(), 0);
    cr_assert_eq(notes_reach(notes, NOTES, &keys, &arena), 300);
    cr_assert_eq(last_before(400, 0, NOTES), 300);
    cr_assert_eq(last_before(300, 0, NOTES), 200);
}

Test(verify_notes, finds_an_altered_note_whichever_part_was_altered)
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
        cr_assert_eq(notes_reach(notes, NOTES, &keys, &arena), 200, "it covers nothing");
    }
}

Test(verify_notes, misses_a_note_that_a_later_one_names)
{
    make_notes();
    look_at_notes(0, NOTES - 1);
    assert_found(VERIFY_REMOVED, 0, NULL);
}

Test(verify_notes, knows_the_keys_that_have_signed_notes_before)
{
    char former[2 * SIGNING_PUBLIC_BYTES + 1];

    make_notes();
    hex_write(keys.known[0].bytes, SIGNING_PUBLIC_BYTES, former);
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

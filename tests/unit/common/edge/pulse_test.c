#include "common/edge/pulse.h"

#include <criterion/criterion.h>

Test(pulse, sends_one_beat_at_a_time)
{
    struct pulse pulse;

    pulse_init(&pulse, 4 * PULSE_MS);
    cr_expect(pulse_turn(&pulse));
    cr_expect_not(pulse_turn(&pulse));
    pulse_heard(&pulse);
    cr_expect(pulse_turn(&pulse));
}

Test(pulse, is_silent_after_four_turns_without_an_answer)
{
    struct pulse pulse;

    pulse_init(&pulse, 4 * PULSE_MS);
    cr_expect(pulse_turn(&pulse));
    for (int i = 0; i < 3; i++) {
        cr_expect_not(pulse_turn(&pulse));
        cr_expect_not(pulse_is_silent(&pulse));
    }
    cr_expect_not(pulse_turn(&pulse));
    cr_expect(pulse_is_silent(&pulse));
}

Test(pulse, is_given_up_some_turns_after_it_fell_silent)
{
    struct pulse pulse = {.patience = 4, .awaited = true, .missed = 4};

    cr_assert(pulse_is_silent(&pulse));
    for (int i = 1; i < PULSE_HOPE; i++) {
        (void)pulse_turn(&pulse);
        cr_expect_not(pulse_is_given_up(&pulse));
    }
    (void)pulse_turn(&pulse);
    cr_expect(pulse_is_given_up(&pulse));
    pulse_heard(&pulse);
    cr_expect_not(pulse_is_given_up(&pulse));
}

Test(pulse, waits_for_a_second_beat_where_there_is_patience_for_it)
{
    struct pulse pulse;

    pulse_init(&pulse, 60 * PULSE_MS);
    cr_expect(pulse_turn(&pulse));
    for (int i = 1; i < 60; i++)
        cr_expect_eq(pulse_turn(&pulse), i == PULSE_AGAIN);
    cr_expect_not(pulse_is_silent(&pulse));
    cr_expect_not(pulse_turn(&pulse));
    cr_expect(pulse_is_silent(&pulse));
}

Test(pulse, tries_again_when_a_beat_was_lost_but_stays_silent)
{
    struct pulse pulse;

    pulse_init(&pulse, 4 * PULSE_MS);
    cr_expect(pulse_turn(&pulse));
    for (int i = 1; i < PULSE_AGAIN; i++)
        cr_expect_not(pulse_turn(&pulse));
    cr_expect(pulse_turn(&pulse));
    cr_expect(pulse_is_silent(&pulse));
    cr_expect_not(pulse_turn(&pulse));
}

Test(pulse, is_back_with_the_first_beat)
{
    struct pulse pulse = {.patience = 4, .awaited = true, .missed = 100};

    cr_assert(pulse_is_silent(&pulse));
    pulse_heard(&pulse);
    cr_expect_not(pulse_is_silent(&pulse));
    cr_expect(pulse_turn(&pulse));
}

Test(pulse, does_not_wait_for_a_beat_that_went_down_with_the_link)
{
    struct pulse pulse;

    pulse_init(&pulse, 4 * PULSE_MS);
    cr_expect(pulse_turn(&pulse));
    pulse_lost(&pulse);
    cr_expect(pulse_turn(&pulse));
}

#include "common/http/calls.h"

#include <criterion/criterion.h>

Test(heartbeat, is_silent_until_the_bus_has_answered_on_this_link)
{
    struct heartbeat heartbeat;

    heartbeat_init(&heartbeat, 4 * HEARTBEAT_MS);
    cr_expect(heartbeat_is_silent(&heartbeat));
    cr_expect_not(heartbeat_is_given_up(&heartbeat));
    cr_expect(heartbeat_tick(&heartbeat));
    cr_expect(heartbeat_is_silent(&heartbeat));
    heartbeat_received(&heartbeat);
    cr_expect_not(heartbeat_is_silent(&heartbeat));
    heartbeat_reset(&heartbeat);
    cr_expect(heartbeat_is_silent(&heartbeat));
}

Test(heartbeat, is_no_more_silent_when_one_could_not_be_sent)
{
    struct heartbeat heartbeat = {.timeout_ticks = 4, .has_answered = true};

    cr_expect(heartbeat_tick(&heartbeat));
    heartbeat_not_sent(&heartbeat);
    cr_expect_not(heartbeat_is_silent(&heartbeat));
    cr_expect(heartbeat_tick(&heartbeat));
    for (int i = 0; i < 4; i++)
        (void)heartbeat_tick(&heartbeat);
    heartbeat_not_sent(&heartbeat);
    cr_expect(heartbeat_is_silent(&heartbeat));
}

Test(heartbeat, sends_one_at_a_time)
{
    struct heartbeat heartbeat;

    heartbeat_init(&heartbeat, 4 * HEARTBEAT_MS);
    cr_expect(heartbeat_tick(&heartbeat));
    cr_expect_not(heartbeat_tick(&heartbeat));
    heartbeat_received(&heartbeat);
    cr_expect(heartbeat_tick(&heartbeat));
}

Test(heartbeat, is_silent_after_four_ticks_without_an_answer)
{
    struct heartbeat heartbeat;

    heartbeat_init(&heartbeat, 4 * HEARTBEAT_MS);
    heartbeat_received(&heartbeat);
    cr_expect(heartbeat_tick(&heartbeat));
    for (int i = 0; i < 3; i++) {
        cr_expect_not(heartbeat_tick(&heartbeat));
        cr_expect_not(heartbeat_is_silent(&heartbeat));
    }
    cr_expect_not(heartbeat_tick(&heartbeat));
    cr_expect(heartbeat_is_silent(&heartbeat));
}

Test(heartbeat, is_given_up_some_ticks_after_it_fell_silent)
{
    struct heartbeat heartbeat = {
        .timeout_ticks = 4, .has_answered = true, .awaited = true, .missed = 4};

    cr_assert(heartbeat_is_silent(&heartbeat));
    for (int i = 1; i < HEARTBEAT_GRACE_TICKS; i++) {
        (void)heartbeat_tick(&heartbeat);
        cr_expect_not(heartbeat_is_given_up(&heartbeat));
    }
    (void)heartbeat_tick(&heartbeat);
    cr_expect(heartbeat_is_given_up(&heartbeat));
    heartbeat_received(&heartbeat);
    cr_expect_not(heartbeat_is_given_up(&heartbeat));
}

Test(heartbeat, waits_for_a_second_one_if_the_timeout_allows_it)
{
    struct heartbeat heartbeat;

    heartbeat_init(&heartbeat, 60 * HEARTBEAT_MS);
    heartbeat_received(&heartbeat);
    cr_expect(heartbeat_tick(&heartbeat));
    for (int i = 1; i < 60; i++)
        cr_expect_eq(heartbeat_tick(&heartbeat), i == HEARTBEAT_RESEND_TICKS);
    cr_expect_not(heartbeat_is_silent(&heartbeat));
    cr_expect_not(heartbeat_tick(&heartbeat));
    cr_expect(heartbeat_is_silent(&heartbeat));
}

Test(heartbeat, tries_again_when_one_was_lost_but_stays_silent)
{
    struct heartbeat heartbeat;

    heartbeat_init(&heartbeat, 4 * HEARTBEAT_MS);
    cr_expect(heartbeat_tick(&heartbeat));
    for (int i = 1; i < HEARTBEAT_RESEND_TICKS; i++)
        cr_expect_not(heartbeat_tick(&heartbeat));
    cr_expect(heartbeat_tick(&heartbeat));
    cr_expect(heartbeat_is_silent(&heartbeat));
    cr_expect_not(heartbeat_tick(&heartbeat));
}

Test(heartbeat, is_back_with_the_first_one)
{
    struct heartbeat heartbeat = {
        .timeout_ticks = 4, .has_answered = true, .awaited = true, .missed = 100};

    cr_assert(heartbeat_is_silent(&heartbeat));
    heartbeat_received(&heartbeat);
    cr_expect_not(heartbeat_is_silent(&heartbeat));
    cr_expect(heartbeat_tick(&heartbeat));
}

Test(heartbeat, does_not_wait_for_one_that_went_down_with_the_link)
{
    struct heartbeat heartbeat;

    heartbeat_init(&heartbeat, 4 * HEARTBEAT_MS);
    cr_expect(heartbeat_tick(&heartbeat));
    heartbeat_reset(&heartbeat);
    cr_expect(heartbeat_tick(&heartbeat));
}

Test(heartbeat, has_a_handle_that_no_other_heartbeat_and_no_call_has)
{
    struct heartbeat heartbeat;
    uint64_t first;

    heartbeat_init(&heartbeat, 4 * HEARTBEAT_MS);
    cr_assert(heartbeat_tick(&heartbeat));
    first = heartbeat_handle(&heartbeat);
    cr_expect(heartbeat_is_awaited(&heartbeat, first));
    cr_expect(heartbeat_has_handle(first));
    cr_expect_not(heartbeat_has_handle(first ^ 1), "a call's");
    while (!heartbeat_tick(&heartbeat))
        ;
    cr_expect_not(heartbeat_is_awaited(&heartbeat, first));
    cr_expect(heartbeat_is_awaited(&heartbeat, heartbeat_handle(&heartbeat)));
    heartbeat_received(&heartbeat);
    cr_expect_not(heartbeat_is_awaited(&heartbeat, heartbeat_handle(&heartbeat)));
}

Test(heartbeat, keeps_awaiting_the_previous_one_if_one_could_not_be_sent)
{
    struct heartbeat heartbeat;
    uint64_t first;

    heartbeat_init(&heartbeat, 4 * HEARTBEAT_MS);
    cr_assert(heartbeat_tick(&heartbeat));
    first = heartbeat_handle(&heartbeat);
    while (!heartbeat_tick(&heartbeat))
        ;
    heartbeat_not_sent(&heartbeat);
    cr_expect(heartbeat_is_awaited(&heartbeat, first));
}

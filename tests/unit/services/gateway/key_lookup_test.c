#include "tests/unit/services/gateway/fake_front.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "proto/subject.h"
#include "services/gateway/familiar.h"
#include "services/gateway/key_cache.h"
#include "services/gateway/key_lookup.h"

/* -- the lookup budget ----------------------------------------------------------------------- */

#define SECOND 1000000

static int take_all(struct rate *budget, enum standing standing, int64_t mono_us)
{
    int n = 0;

    while (n < 10 * LOOKUP_BUDGET_MAX && lookup_budget_take(budget, standing, mono_us))
        n++;
    return n;
}

Test(lookup_budget, is_so_many_at_once_and_then_so_many_a_second)
{
    struct rate budget = {0};

    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, 5 * SECOND), LOOKUP_BUDGET_MAX);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, 5 * SECOND), 0);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, 6 * SECOND), LOOKUP_BUDGET_PER_SECOND);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, 6 * SECOND + SECOND / 2),
                 LOOKUP_BUDGET_PER_SECOND / 2);
}

Test(lookup_budget, does_not_grow_while_unused)
{
    struct rate budget = {0};

    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, SECOND), LOOKUP_BUDGET_MAX);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, 3600LL * SECOND), LOOKUP_BUDGET_MAX);
}

Test(lookup_budget, keeps_a_quarter_for_networks_of_good_keys)
{
    struct rate budget = {0};

    cr_assert_eq(take_all(&budget, STANDING_STRANGER, SECOND), LOOKUP_BUDGET_MAX / 4 * 3);
    cr_assert_eq(take_all(&budget, STANDING_SUSPECT, SECOND), 0);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, SECOND), LOOKUP_BUDGET_MAX / 4);
}

Test(lookup_budget, keeps_half_for_addresses_that_have_not_failed)
{
    struct rate budget = {0};

    cr_assert_eq(take_all(&budget, STANDING_SUSPECT, SECOND), LOOKUP_BUDGET_MAX / 2);
    cr_assert_eq(take_all(&budget, STANDING_SUSPECT, SECOND), 0);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, SECOND), LOOKUP_BUDGET_MAX / 2);
}

Test(lookup_budget, is_not_used_up_by_valid_keys)
{
    struct rate budget = {0};

    for (int i = 0; i < 5 * LOOKUP_BUDGET_MAX; i++) {
        cr_assert(lookup_budget_take(&budget, STANDING_FAMILIAR, SECOND));
        lookup_budget_refund(&budget);
    }
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, SECOND), LOOKUP_BUDGET_MAX);
}

Test(lookup_budget, refunded_late_does_not_exceed_the_maximum)
{
    struct rate budget = {0};

    cr_assert(lookup_budget_take(&budget, STANDING_FAMILIAR, SECOND));
    cr_assert(lookup_budget_take(&budget, STANDING_FAMILIAR, 3600LL * SECOND));
    lookup_budget_refund(&budget);
    lookup_budget_refund(&budget);
    cr_assert_eq(take_all(&budget, STANDING_FAMILIAR, 3600LL * SECOND), LOOKUP_BUDGET_MAX);
}

/* -- lookups --------------------------------------------------------------------------------- */

#define PING "/api/v1/ping"

static char bearer[sizeof("Bearer ") + TOKEN_TEXT];

static void set_up(void)
{
    memcpy(bearer, "Bearer ", 7);
    token_make(TOKEN_LIVE, bearer + 7);
    fake_open();
}

TestSuite(key_lookup, .init = set_up, .fini = fake_close);

static size_t asked(void)
{
    return fake_count(SUBJECT_ACCESS_AUTHENTICATE);
}

static void answer(const char *outcome, const char *body)
{
    fake_reply(fake_call(SUBJECT_ACCESS_AUTHENTICATE), outcome, body);
}

/* Requests with an accepted key go on to their quota, which is asked for once. */
static bool has_gone_on(void)
{
    return fake_count(SUBJECT_ACCESS_QUOTA) == 1;
}

/* -- one question ---------------------------------------------------------------------------- */

Test(key_lookup, is_one_however_many_requests_wait)
{
    struct fake_request *requests[5];

    for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
        requests[i] = fake_get(PING, bearer);
    cr_expect_eq(asked(), 1);
    answer("unauthorized", "[]");
    cr_expect_eq(asked(), 1);
    /* The limit on failures is 3. */
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
        cr_expect_eq(requests[i]->status, i < 3 ? 401 : 429, "request %zu", i);
}

Test(key_lookup, sends_the_hash_of_the_token_and_not_the_token)
{
    char hex[2 * SHA256_BYTES + 1], body[2 * SHA256_BYTES + 32];
    uint8_t hash[SHA256_BYTES];

    token_hash(str_of(bearer + 7), hash);
    hex_write(hash, sizeof(hash), hex);
    snprintf(body, sizeof(body), "{\"token_hash\":\"%s\"}", hex);
    fake_get(PING, bearer);
    cr_expect_str_eq(fake_call(SUBJECT_ACCESS_AUTHENTICATE)->body, body);
}

Test(key_lookup, of_a_key_known_lately_is_not_needed)
{
    fake_get(PING, bearer);
    answer("ok", fake_record);
    fake_pass_ms(2999);
    fake_get(PING, bearer);
    cr_expect_eq(asked(), 1);
}

Test(key_lookup, is_repeated_in_the_background_while_the_answer_serves)
{
    struct fake_request *request;

    fake_get(PING, bearer);
    answer("ok", fake_record);
    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok",
               "{\"granted\":10,\"key_left\":90,\"organization_left\":990}");
    fake_pass_ms(3001);
    request = fake_get(PING, bearer);
    cr_expect_eq(asked(), 2);
    cr_expect_eq(request->api->stage, STAGE_RECORD, "it does not wait");
}

Test(key_lookup, is_waited_for_when_the_answer_is_too_old)
{
    struct fake_request *request;

    fake_get(PING, bearer);
    answer("ok", fake_record);
    fake_pass_ms(5001);
    request = fake_get(PING, bearer);
    cr_expect_eq(asked(), 2);
    cr_expect_eq(request->api->stage, STAGE_AUTHENTICATE);
}

Test(key_lookup, that_was_refused_is_not_repeated_for_a_while)
{
    fake_get(PING, bearer);
    answer("unauthorized", "[]");
    cr_expect_eq(fake_get(PING, bearer)->status, 401);
    cr_expect_eq(asked(), 1);
    fake_pass_ms(5001);
    fake_get(PING, bearer);
    cr_expect_eq(asked(), 2);
}

/* -- notices during a lookup ----------------------------------------------------------------- */

Test(key_lookup, is_repeated_when_a_notice_came_during_it)
{
    fake_get(PING, bearer);
    fake_invalidate(FAKE_ORGANIZATION);
    answer("ok", fake_record);
    cr_expect_eq(asked(), 2);
    cr_expect_not(has_gone_on(), "the answer may be from before the notice");
    answer("ok", fake_record);
    cr_expect(has_gone_on());
}

Test(key_lookup, stands_when_the_notice_was_about_others)
{
    fake_get(PING, bearer);
    fake_invalidate(FAKE_OTHER);
    answer("ok", fake_record);
    cr_expect_eq(asked(), 1);
    cr_expect(has_gone_on());
}

Test(key_lookup, is_repeated_when_a_refusal_may_be_from_before_a_notice)
{
    struct fake_request *request = fake_get(PING, bearer);

    fake_invalidate(FAKE_OTHER);
    answer("unauthorized", "[]");
    cr_expect_eq(request->status, 0, "the key may have been created in between");
    answer("ok", fake_record);
    cr_expect(has_gone_on());
}

Test(key_lookup, is_repeated_when_notices_named_several)
{
    fake_get(PING, bearer);
    fake_invalidate(FAKE_ORGANIZATION);
    fake_invalidate(FAKE_OTHER);
    answer("ok", fake_record);
    cr_expect_eq(asked(), 2);
}

Test(key_lookup, that_cannot_be_repeated_fails)
{
    struct fake_request *request = fake_get(PING, bearer);

    fake_invalidate(FAKE_ORGANIZATION);
    fake_bus = FAKE_BUS_AWAY;
    answer("ok", fake_record);
    cr_expect_eq(request->status, 503);
}

Test(key_lookup, is_needed_again_after_a_notice)
{
    fake_get(PING, bearer);
    answer("ok", fake_record);
    fake_invalidate(FAKE_ORGANIZATION);
    fake_get(PING, bearer);
    cr_expect_eq(asked(), 2);
}

/* -- access or the bus is away --------------------------------------------------------------- */

Test(key_lookup, that_the_bus_lost_is_repeated_at_once)
{
    struct fake_request *request = fake_get(PING, bearer);

    fake_end(fake_call(SUBJECT_ACCESS_AUTHENTICATE), CALL_LOST);
    cr_expect_eq(asked(), 2);
    cr_expect_eq(request->status, 0);
}

Test(key_lookup, that_access_does_not_answer_is_not_repeated_for_a_second)
{
    struct fake_request *request = fake_get(PING, bearer);

    fake_end(fake_call(SUBJECT_ACCESS_AUTHENTICATE), CALL_LATE);
    cr_expect_eq(request->status, 503);
    cr_expect_eq(fake_get(PING, bearer)->status, 503);
    cr_expect_eq(asked(), 1);
    fake_pass_ms(1000);
    cr_expect_eq(fake_get(PING, bearer)->status, 0);
    cr_expect_eq(asked(), 2);
}

Test(key_lookup, without_access_does_not_hold_up_a_known_key)
{
    struct fake_request *request;

    fake_get(PING, bearer);
    answer("ok", fake_record);
    fake_pass_ms(50000);
    request = fake_get(PING, bearer);
    fake_end(fake_call(SUBJECT_ACCESS_AUTHENTICATE), CALL_LATE);
    cr_expect_neq(request->api->stage, STAGE_AUTHENTICATE);
    fake_pass_ms(10000);
    request = fake_get(PING, bearer);
    cr_expect_eq(request->api->stage, STAGE_AUTHENTICATE, "60 seconds after its confirmation");
}

Test(key_lookup, with_a_malformed_record_is_a_failure)
{
    struct fake_request *request = fake_get(PING, bearer);

    answer("ok", "{\"organization_id\":17}");
    cr_expect_eq(request->status, 503);
}

/* -- the budget ------------------------------------------------------------------------------ */

/* Uses up the lookup budget that strangers may spend. */
static void spend_budget(void)
{
    for (int i = 0; i < LOOKUP_BUDGET_MAX; i++)
        (void)lookup_budget_take(&gateway.lookup_budget, STANDING_STRANGER, clock_mono_us());
}

Test(key_lookup, of_a_stranger_is_withheld_when_the_budget_is_spent)
{
    struct fake_request *request;

    spend_budget();
    request = fake_get(PING, bearer);
    cr_expect_eq(request->status, 503);
    cr_expect_eq(asked(), 0);
    fake_pass_ms(1000);
    cr_expect_eq(fake_get(PING, bearer)->status, 0, "it is granted again");
}

Test(key_lookup, from_a_familiar_network_is_still_made)
{
    struct address near;

    spend_budget();
    cr_assert(address_parse(STR("192.0.2.77"), &near));
    familiar_note(gateway.familiar, &near, clock_mono_us());
    fake_get(PING, bearer);
    cr_expect_eq(asked(), 1);
}

Test(key_lookup, that_finds_a_key_costs_nothing)
{
    fake_get(PING, bearer);
    cr_expect_gt(gateway.lookup_budget.spent_us, 0);
    answer("ok", fake_record);
    cr_expect_eq(gateway.lookup_budget.spent_us, 0);
}

Test(key_lookup, that_finds_none_is_spent)
{
    fake_get(PING, bearer);
    answer("unauthorized", "[]");
    cr_expect_gt(gateway.lookup_budget.spent_us, 0);
}

Test(key_lookup, of_a_key_that_was_known_needs_no_budget)
{
    fake_get(PING, bearer);
    answer("ok", fake_record);
    fake_invalidate(FAKE_ORGANIZATION);
    spend_budget();
    fake_get(PING, bearer);
    cr_expect_eq(asked(), 2);
}

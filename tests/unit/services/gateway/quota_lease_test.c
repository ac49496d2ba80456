#include "tests/unit/services/gateway/fake_front.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/gateway/key_cache.h"

#define PING "/api/v1/ping"

static char bearer[sizeof("Bearer ") + TOKEN_TEXT];
static struct key *key;

/* A key that access has just confirmed. */
static void set_up(void)
{
    uint8_t hash[SHA256_BYTES];
    struct key_record record;

    memcpy(bearer, "Bearer ", 7);
    token_make(TOKEN_LIVE, bearer + 7);
    fake_open();
    token_hash(str_of(bearer + 7), hash);
    key = key_cache_get(gateway.keys, hash);
    cr_assert(key_record_read(str_of(fake_record), &record));
    key->asked_us = clock_mono_us();
    key_confirm(key, &record);
}

static void tear_down(void)
{
    key_cache_put(gateway.keys, key);
    fake_close();
}

TestSuite(quota_lease, .init = set_up, .fini = tear_down);

static size_t asked(void)
{
    return fake_count(SUBJECT_ACCESS_QUOTA);
}

static void lease(unsigned granted, unsigned left)
{
    char body[120];

    snprintf(body, sizeof(body), "{\"granted\":%u,\"key_left\":%u,\"organization_left\":%u}",
             granted, left, left);
    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok", body);
}

/* The decision about its quota has been made. */
static bool is_through(const struct fake_request *request)
{
    return request->api->stage > STAGE_CHECK;
}

static bool is_refused(const struct fake_request *request)
{
    return is_through(request) && request->api->outcome == OUTCOME_RATE_LIMITED;
}

Test(quota_lease, is_asked_for_once_however_many_wait)
{
    struct fake_request *first = fake_get(PING, bearer), *second = fake_get(PING, bearer);

    cr_expect_eq(asked(), 1);
    cr_expect_not(is_through(first));
    lease(10, 90);
    cr_expect(is_through(first) && is_through(second));
    cr_expect_eq(asked(), 1);
    cr_expect_eq(key->requests.quota.leased, 8);
}

Test(quota_lease, names_the_key_its_window_and_its_limits)
{
    const struct fake_call *call;

    fake_get(PING, bearer);
    call = fake_call(SUBJECT_ACCESS_QUOTA);
    cr_expect_str_eq(call->body, "{\"window\":170000000,\"want\":6,\"key_limit\":100,"
                                 "\"organization_limit\":1000}");
    cr_expect(str_equal(fake_header(call, HEADER_ORGANIZATION), STR(FAKE_ORGANIZATION)));
    cr_expect(str_equal(fake_header(call, HEADER_API_KEY), STR(FAKE_API_KEY)));
}

Test(quota_lease, of_refusals_names_their_count_and_its_limits)
{
    fake_get(PING, bearer);
    lease(0, 0);
    cr_expect_str_eq(fake_call(SUBJECT_ACCESS_QUOTA)->body,
                     "{\"window\":170000000,\"want\":6,\"key_limit\":100,"
                     "\"organization_limit\":1000,\"refusals\":true}");
}

Test(quota_lease, that_is_too_small_for_all_is_followed_by_another)
{
    struct fake_request *first = fake_get(PING, bearer), *second = fake_get(PING, bearer);

    lease(1, 99);
    cr_expect(is_through(first));
    cr_expect_not(is_through(second));
    cr_expect_eq(asked(), 2);
    lease(1, 98);
    cr_expect(is_through(second) && !is_refused(second));
}

Test(quota_lease, of_nothing_refuses_until_the_window_ends)
{
    struct fake_request *first = fake_get(PING, bearer), *second = fake_get(PING, bearer);

    lease(0, 0);
    cr_expect_not(is_through(first) || is_through(second));
    cr_expect_eq(asked(), 2, "and asks for refusals");
    lease(3, 97);
    cr_expect(is_refused(first) && is_refused(second));
    cr_expect(is_refused(fake_get(PING, bearer)));
    cr_expect_eq(asked(), 2);
}

Test(quota_lease, is_asked_for_again_in_the_next_window)
{
    fake_get(PING, bearer);
    lease(0, 0);
    lease(1, 99);
    fake_pass_ms(10000);
    key->confirmed_us = clock_mono_us();
    cr_expect_not(is_through(fake_get(PING, bearer)));
    cr_expect_eq(asked(), 3);
}

Test(quota_lease, that_comes_after_its_window_counts_for_nothing)
{
    struct fake_request *late = fake_get(PING, bearer), *request;

    fake_pass_ms(10000);
    key->confirmed_us = clock_mono_us();
    request = fake_get(PING, bearer); /* the first request of the new window */
    cr_expect_eq(asked(), 1, "one question at a time");
    lease(10, 90);
    cr_expect_eq(asked(), 2);
    cr_expect_not(is_through(late) || is_through(request));
    lease(10, 90);
    cr_expect(is_through(late) && is_through(request));
    cr_expect_eq(key->requests.quota.leased, 8);
}

Test(quota_lease, without_a_reply_makes_the_gateway_count_by_itself)
{
    struct fake_request *request = fake_get(PING, bearer);

    fake_end(fake_call(SUBJECT_ACCESS_QUOTA), CALL_LATE);
    cr_expect(is_through(request) && !is_refused(request));
    for (int i = 1; i < 40; i++)
        cr_expect_not(is_refused(fake_get(PING, bearer)), "request %d", i);
    cr_expect_eq(asked(), 1);
    cr_expect_eq(key->requests.quota.leased, 60, "against the whole limit");
}

Test(quota_lease, cannot_be_asked_for_without_a_bus)
{
    fake_bus = FAKE_BUS_AWAY;
    fake_get(PING, bearer);
    cr_expect(key->requests.quota.alone);
    cr_expect_eq(key->requests.quota.leased, 99);
}

Test(quota_lease, with_a_malformed_count_is_a_failure)
{
    static const char *const bad[] = {
        "{\"granted\":-1,\"key_left\":1,\"organization_left\":1}",
        "{\"granted\":\"1\",\"key_left\":1,\"organization_left\":1}",
        "{\"granted\":1,\"key_left\":1}",
        "[]",
        "{",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        key->requests.quota.window = 0; /* another window: drops the lease */
        fake_get(PING, bearer);
        fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok", bad[i]);
        cr_expect(key->requests.quota.alone, "%s", bad[i]);
    }
}

Test(quota_lease, is_not_waited_for_when_access_has_just_not_answered)
{
    key->ask_again_us = clock_mono_us() + 1000000;
    cr_expect(is_through(fake_get(PING, bearer)));
    cr_expect_eq(asked(), 0);
    cr_expect(key->requests.quota.alone);
}

Test(quota_lease, is_asked_for_ahead_when_the_last_runs_low)
{
    fake_get(PING, bearer);
    lease(16, 84);
    for (int i = 1; i < 12; i++)
        fake_get(PING, bearer);
    cr_expect_eq(asked(), 1, "a quarter is left");
    cr_expect(is_through(fake_get(PING, bearer)));
    cr_expect_eq(asked(), 2);
    lease(16, 68);
    cr_expect_eq(key->requests.quota.leased, 3 + 16);
}

Test(quota_lease, begins_again_with_other_limits)
{
    fake_get(PING, bearer);
    lease(10, 90);
    key->record.limits.key = 200;
    fake_get(PING, bearer);
    cr_expect_eq(asked(), 2);
    cr_expect_not_null(strstr(fake_call(SUBJECT_ACCESS_QUOTA)->body, "\"key_limit\":200"));
}

Test(quota_lease, outlives_the_requests_that_wait_for_it)
{
    fake_leave(fake_get(PING, bearer));
    lease(10, 90);
    cr_expect_eq(key->requests.quota.leased, 10);
    cr_expect_eq(key->users, 1);
}

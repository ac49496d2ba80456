#include "services/gateway/key_cache.h"

#include <criterion/criterion.h>

#define MS  INT64_C(1000)
#define NOW 1000

#define ORG       "01920000-0000-7000-8000-000000000001"
#define OTHER_ORG "01920000-0000-7000-8000-000000000002"

static struct key key;

/* Asked at 0 of the monotonic clock, and confirmed. */
static void confirm(void)
{
    struct key_record record = {.expires_at = INT64_MAX};

    key = (struct key){.asked_us = 0};
    key_confirm(&key, &record);
}

static enum key_result check(int64_t mono_ms)
{
    return key_check(&key, mono_ms * MS, NOW, true);
}

static enum key_result check_without_bus(int64_t mono_ms)
{
    return key_check(&key, mono_ms * MS, NOW, false);
}

TestSuite(key, .init = confirm);

Test(key, is_asked_about_when_it_is_new)
{
    key = (struct key){0};
    cr_expect_eq(check(0), KEY_ASK);
}

Test(key, is_good_then_refreshed_then_waited_for)
{
    cr_expect_eq(check(2999), KEY_GOOD);
    cr_expect_eq(check(3000), KEY_GOOD_ASK);
    cr_expect_eq(check(4999), KEY_GOOD_ASK);
    cr_expect_eq(check(5000), KEY_ASK);
}

Test(key, is_not_asked_about_twice_at_a_time)
{
    key.asking = true;
    cr_expect_eq(check(3000), KEY_GOOD);
    cr_expect_eq(check(5000), KEY_ASK);
}

Test(key, ends_when_it_expires)
{
    key.record.expires_at = NOW + 1;
    cr_expect_eq(check(0), KEY_GOOD);
    key.record.expires_at = NOW;
    cr_expect_eq(check(0), KEY_BAD);
}

Test(key, stays_refused_for_five_seconds)
{
    key_refuse(&key);
    cr_expect_eq(check(4999), KEY_BAD);
    cr_expect_eq(check(5000), KEY_ASK);
}

Test(key, does_without_access_for_a_minute)
{
    key_unreachable(&key, 5000 * MS);
    cr_expect_eq(check(5000), KEY_GOOD);
    cr_expect_eq(check(6000), KEY_GOOD_ASK);
    cr_expect_eq(check(59999), KEY_GOOD_ASK);
    key_unreachable(&key, 60000 * MS);
    cr_expect_eq(check(60000), KEY_OUT_OF_REACH);
    cr_expect_eq(check(61000), KEY_ASK);
}

Test(key, that_is_unknown_is_never_good_without_access)
{
    key = (struct key){0};
    key_unreachable(&key, 0);
    cr_expect_eq(check(0), KEY_OUT_OF_REACH);
    cr_expect_eq(check(1000), KEY_ASK);
}

Test(key, does_without_the_bus_for_a_minute_and_asks_when_it_is_back)
{
    cr_expect_eq(check_without_bus(3000), KEY_GOOD);
    cr_expect_eq(check_without_bus(5000), KEY_GOOD);
    cr_expect_eq(check(5000), KEY_ASK);
    cr_expect_eq(check_without_bus(59999), KEY_GOOD);
    cr_expect_eq(check_without_bus(60000), KEY_OUT_OF_REACH);
    key.record.expires_at = NOW;
    cr_expect_eq(check_without_bus(5000), KEY_BAD);
}

Test(key, that_is_unknown_is_asked_about_as_soon_as_the_bus_is_there)
{
    key = (struct key){0};
    cr_expect_eq(check_without_bus(0), KEY_OUT_OF_REACH);
    cr_expect_eq(check(0), KEY_ASK);
}

Test(key, is_waited_for_when_access_is_in_reach_again)
{
    key_unreachable(&key, 29500 * MS);
    cr_expect_eq(check(30000), KEY_GOOD);
    key_reachable(&key);
    cr_expect_eq(check(30000), KEY_ASK);
}

Test(key, is_not_relied_on_after_a_notice)
{
    key_doubt(&key, STR(ORG));
    cr_expect_eq(check(1), KEY_ASK);
    key_unreachable(&key, 1 * MS);
    cr_expect_eq(check(2), KEY_OUT_OF_REACH);
}

Test(key, remembers_of_whom_a_notice_overtook_its_look_up)
{
    struct key_record own = {.organization_id = ORG};

    key_doubt(&key, STR(ORG));
    cr_expect_not(key_is_overtaken(&key, &own), "it came before");
    key.asking = true;
    key_doubt(&key, STR(ORG));
    cr_expect(key_is_overtaken(&key, &own));
}

/* Or who changes much, and often, would keep everybody else waiting. */
Test(key, may_be_confirmed_after_notices_about_another_organization)
{
    struct key_record own = {.organization_id = ORG};

    key.asking = true;
    key_doubt(&key, STR(OTHER_ORG));
    key_doubt(&key, STR(OTHER_ORG));
    cr_expect_not(key_is_overtaken(&key, &own));
    cr_expect(key_is_overtaken(&key, NULL), "whose key a refused one was meanwhile is not known");
    key_doubt(&key, STR(ORG));
    cr_expect(key_is_overtaken(&key, &own));
    key_doubt(&key, STR(OTHER_ORG));
    cr_expect(key_is_overtaken(&key, &own));
}

#include "services/gateway/postponed.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/gateway/gateway_metrics.h"
#include "services/gateway/key_cache.h"
#include "tests/unit/services/gateway/fake_front.h"

#define PING      "/api/v1/ping"
#define WINDOW_MS (QUOTA_WINDOW_SECONDS * 1000)
#define EARLY_MS  (WINDOW_MS - 1000) /* in a window: its end comes before a request's own */

static char bearer[sizeof("Bearer ") + TOKEN_TEXT];
static struct key *key;

/* Makes `out` the Authorization header of another key, which access has just confirmed. */
static struct key *new_key(char out[sizeof(bearer)])
{
    uint8_t hash[SHA256_BYTES];
    struct key_record record;
    struct key *made;

    memcpy(out, "Bearer ", 7);
    token_make(TOKEN_LIVE, out + 7);
    token_hash(str_of(out + 7), hash);
    made = key_cache_get(gateway.keys, hash);
    cr_assert(key_record_read(str_of(fake_record), &record));
    made->asked_us = clock_mono_us();
    key_confirm(made, &record);
    return made;
}

static void set_up(void)
{
    fake_open();
    key = new_key(bearer);
}

static void tear_down(void)
{
    key_cache_put(gateway.keys, key);
    fake_close();
}

TestSuite(postponed, .init = set_up, .fini = tear_down);

static void pass_ms(int64_t ms)
{
    fake_pass_ms(ms);
    key->confirmed_us = clock_mono_us();
}

static void lease(unsigned granted)
{
    char body[120];

    snprintf(body, sizeof(body), "{\"granted\":%u,\"key_left\":0,\"organization_left\":0}",
             granted);
    fake_reply(fake_call(SUBJECT_ACCESS_QUOTA), "ok", body);
}

/* A request that its key may not be answered in this window. */
static struct fake_request *one_too_many(void)
{
    struct fake_request *request = fake_get(PING, bearer);

    lease(0);
    lease(0);
    return request;
}

static bool is_recorded(const struct fake_request *request)
{
    return request->api->stage == STAGE_RECORD;
}

static bool is_dropped(const struct fake_request *request)
{
    return request->api->stage == STAGE_DROPPED;
}

static int64_t count(const struct metric *metric)
{
    return metric_read(metric);
}

Test(postponed, waits_for_the_end_of_the_window_and_is_refused)
{
    struct fake_request *request;

    pass_ms(EARLY_MS);
    request = one_too_many();
    cr_expect(request->api->is_postponed);
    fake_look();
    cr_expect(request->api->is_postponed, "the window has not ended");
    pass_ms(1000);
    fake_look();
    cr_expect_not(request->api->is_postponed);
    lease(1);
    cr_expect(is_recorded(request));
    cr_expect(str_equal(fake_header(fake_call(SUBJECT_AUDIT_APPEND), HEADER_STATUS), STR("429")));
    fake_reply(fake_call(SUBJECT_AUDIT_APPEND), "ok", "");
    cr_expect_eq(request->status, 429);
    cr_expect(str_equal(fake_response_header(request, "retry-after"), STR("1")));
    cr_expect(str_equal(fake_response_header(request, "x-ratelimit-remaining"), STR("0")));
    cr_expect_eq(gateway.postponed->n, 0);
    cr_expect_eq(key->n_postponed, 0);
    cr_expect_eq(count(gateway_metrics.postponed), 1);
    cr_expect_eq(count(gateway_metrics.dropped), 0);
}

/* Its answer is one of the new window's, which may have none left either. */
Test(postponed, is_postponed_again_when_the_new_window_has_no_refusal_left)
{
    struct fake_request *request;

    pass_ms(EARLY_MS);
    request = one_too_many();
    pass_ms(1000);
    fake_look();
    lease(0);
    cr_expect(request->api->is_postponed);
    cr_expect_eq(gateway.postponed->n, 1);
    fake_be_late(request);
    cr_expect(is_dropped(request));
    cr_expect_eq(gateway.postponed->n, 0);
}

Test(postponed, is_dropped_when_its_own_time_ends_first)
{
    struct fake_request *request = one_too_many();

    fake_be_late(request);
    cr_expect(is_dropped(request));
    cr_expect_eq(request->req.http1_is_persistent, 0);
    cr_expect_eq(gateway.postponed->n, 0);
    cr_expect_eq(key->n_postponed, 0);
    cr_expect_eq(fake_count(SUBJECT_AUDIT_APPEND), 0);
    cr_expect_eq(count(gateway_metrics.dropped), 1);
}

Test(postponed, leaves_with_its_client)
{
    fake_leave(one_too_many());
    cr_expect_eq(gateway.postponed->n, 0);
    cr_expect_eq(key->n_postponed, 0);
    fake_look(); /* and the timer is not set again */
    cr_expect_not(timer_is_running(&gateway.postponed->timer));
}

Test(postponed, takes_so_many_of_a_key_and_others_have_places)
{
    char other_bearer[sizeof(bearer)];
    struct fake_request *request;
    struct key *other;

    one_too_many();
    for (int i = 1; i < POSTPONED_OF_KEY; i++)
        cr_expect(fake_get(PING, bearer)->api->is_postponed, "request %d", i + 1);
    for (int i = 0; i < 3; i++)
        cr_expect(is_dropped(fake_get(PING, bearer)));
    cr_expect_eq(key->n_postponed, POSTPONED_OF_KEY);
    cr_expect_eq(count(gateway_metrics.dropped), 3);

    other = new_key(other_bearer);
    request = fake_get(PING, other_bearer);
    lease(1);
    cr_expect(is_recorded(request), "another key has answers of its own");
    request = fake_get(PING, other_bearer);
    lease(0);
    lease(0);
    cr_expect(request->api->is_postponed, "and places of its own");
    key_cache_put(gateway.keys, other);
}

Test(postponed, takes_so_many_of_all_keys)
{
    struct fake_request *request;

    gateway.postponed->n = POSTPONED_MAX;
    request = one_too_many();
    cr_expect(is_dropped(request));
    gateway.postponed->n = 0;
}

Test(postponed, ends_when_the_program_stops)
{
    struct fake_request *request = one_too_many();

    gateway.edge.stopping = true;
    fake_look();
    cr_expect(is_dropped(request));
    cr_expect(is_dropped(fake_get(PING, bearer)));
    gateway.edge.stopping = false;
}

Test(postponed, drops_are_told_once_a_key_and_window)
{
    const int64_t window = clock_us() / 1000000 / QUOTA_WINDOW_SECONDS;

    for (int i = 0; i < 3; i++)
        postponed_note_drop(gateway.postponed, key);
    cr_expect_eq(gateway.postponed->n_told, 1);
    cr_expect_eq(key->drop_told, window);
    pass_ms(WINDOW_MS);
    postponed_note_drop(gateway.postponed, key);
    cr_expect_eq(key->drop_told, window + 1);
    for (int i = 0; i < 2 * POSTPONED_LINES; i++) {
        key->drop_told = 0; /* as if of another key */
        postponed_note_drop(gateway.postponed, key);
    }
    cr_expect_eq(gateway.postponed->n_told, POSTPONED_LINES);
    cr_expect_eq(count(gateway_metrics.dropped), 4 + 2 * POSTPONED_LINES);
}

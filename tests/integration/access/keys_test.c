/* Keys: rotation, expiry, last use, and which keys are refused without a lookup. */
#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "tests/support/api_client.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

TestSuite(keys, .init = stack_share);

#define LOOKUPS "conversations_gateway_key_lookups_total"

static long long integer_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    cr_assert(json_is_integer(value), "%s", name);
    return json_integer_value(value);
}

static json_t *rotate(const struct org *org, const char *id, const char *overlap)
{
    return convctl("key", "rotate", "--org", org->id, id, "--overlap", overlap, NULL);
}

/* -- rotation ---------------------------------------------------------------------------------- */

Test(keys, that_are_rotated_have_a_successor_of_their_name_and_scope)
{
    struct org org;
    json_t *successor;

    org_new(&org);
    successor = convctl("key", "rotate", "--org", org.id, org.read_key_id, NULL);
    cr_assert_str_neq(text_of(successor, "id"), org.read_key_id);
    cr_assert_str_eq(text_of(successor, "scope"), "read");
    cr_assert_str_eq(text_of(successor, "prefix"), "svc_read_");
    cr_assert(json_is_null(json_object_get(successor, "expires_at")));
    cr_assert_str_eq(text_of(json_object_get(successor, "replaces"), "id"), org.read_key_id);
    cr_assert_str_eq(text_of(successor, "name"),
                     sql_text("SELECT name FROM access.api_keys WHERE organization_id = $1::uuid"
                              " AND api_key_id = $2::uuid",
                              org.id, org.read_key_id, NULL));
    expect_status(api_get(text_of(successor, "token"), "/ping"), 200);
    expect_error(api_create(text_of(successor, "token"), "{}"), 403, "insufficient_scope", "*");
    expect_status(api_get(org.read_key, "/ping"), 200);
    json_decref(successor);
    successor = convctl("key", "rotate", "--org", org.id, org.full_key_id, NULL);
    expect_status(api_create(text_of(successor, "token"),
                             "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}"),
                  201);
    json_decref(successor);
}

Test(keys, that_are_rotated_end_when_the_overlap_does)
{
    static const struct {
        const char *overlap;
        long long seconds;
    } cases[] = {{"1h", 3600}, {"24h", 86400}, {"7d", 604800}};
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char token[64], id[37];
        json_t *successor;
        long long now = (long long)time(NULL), end;

        org_new_key(&org, "read", token, id);
        successor = rotate(&org, id, cases[i].overlap);
        end = integer_of(json_object_get(successor, "replaces"), "expires_at");
        cr_assert(end >= now + cases[i].seconds - 1 &&
                      end <= (long long)time(NULL) + cases[i].seconds + 1,
                  "%s: %lld", cases[i].overlap, end - now);
        expect_status(api_get(token, "/ping"), 200);
        json_decref(successor);
    }
}

static bool is_refused(void *closure)
{
    return api_get(closure, "/ping")->status == 401;
}

Test(keys, that_are_rotated_with_no_overlap_are_refused_when_that_is_announced)
{
    struct org org;
    json_t *successor;
    char code[64];

    org_new(&org);
    expect_status(api_get(org.full_key, "/ping"), 200);
    successor = rotate(&org, org.full_key_id, "now");
    cr_assert(stack_wait_in_force(is_refused, org.full_key));
    expect_status(api_get(text_of(successor, "token"), "/ping"), 200);
    json_decref(successor);
    cr_assert_eq(convctl_fails(code, "key", "rotate", "--org", org.id, org.full_key_id, NULL), 1);
    cr_assert_str_eq(code, "conflict", "an ended key has no successor");
}

Test(keys, of_others_and_overlaps_of_ones_own_choice_are_refused)
{
    struct org org, other;
    char code[64];

    org_new(&org);
    org_new(&other);
    cr_assert_eq(convctl_fails(code, "key", "rotate", "--org", org.id, other.full_key_id, NULL), 1);
    cr_assert_str_eq(code, "not_found");
    cr_assert_eq(convctl_fails(code, "key", "rotate", "--org", org.id, org.full_key_id, "--overlap",
                               "2h", NULL),
                 2);
    expect_status(api_get(other.full_key, "/ping"), 200);
}

/* -- expiry ------------------------------------------------------------------------------------ */

Test(keys, end_at_the_very_second)
{
    struct org org;
    struct client_response *response;
    json_t *key;
    int64_t end_us, sent_us, answered_us;
    int served = 0, refused = 0;

    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    key = convctl("key", "create", "--org", org.id, "--name", "short", "--scope", "read",
                  "--expires-in", "5", NULL);
    end_us = integer_of(key, "expires_at") * 1000000;
    do {
        sent_us = clock_us();
        response = api_get(text_of(key, "token"), "/ping");
        answered_us = clock_us();
        if (answered_us < end_us)
            expect_status(response, 200);
        if (sent_us >= end_us)
            expect_error(response, 401, "unauthorized", "*");
        served += response->status == 200;
        refused += response->status == 401;
    } while (refused < 20); /* far below the failures that an address may have in a minute */
    cr_assert_gt(served, 20, "the key must be in use when it ends");
    json_decref(key);
}

/* -- last use ---------------------------------------------------------------------------------- */

static const char last_used[] =
    "SELECT coalesce(floor(extract(epoch FROM last_used_at)), 0)::bigint FROM access.api_keys"
    " WHERE organization_id = $1::uuid AND api_key_id = $2::uuid";

static bool is_noted(void *closure)
{
    const struct org *org = closure;

    return sql_integer(last_used, org->id, org->read_key_id, NULL) > 0;
}

Test(keys, are_recorded_as_used_soon_after_and_apart_from_the_requests)
{
    struct org org;
    struct replica gateway;
    int64_t began_s = clock_us() / 1000000, noted_s;

    org_new(&org);
    replica_start(&gateway, (const char *const[]){NULL});
    for (int i = 0; i < 50; i++)
        expect_status(
            http_send(&(struct client_request){
                .method = "GET", .base = gateway.base, .path = "/ping", .key = org.read_key}),
            200);
    cr_assert(stack_wait(is_noted, &org, 30000), "usage is reported every 10 seconds");
    noted_s = sql_integer(last_used, org.id, org.read_key_id, NULL);
    cr_assert(noted_s >= began_s && noted_s <= clock_us() / 1000000);
    cr_assert_eq(sql_integer(last_used, org.id, org.full_key_id, NULL), 0, "it was never used");
    replica_stop(&gateway);
}

/* -- refused without a lookup ------------------------------------------------------------------ */

static int ping(const struct replica *gateway, const char *key)
{
    return http_send(&(struct client_request){
                         .method = "GET", .base = gateway->base, .path = "/ping", .key = key})
        ->status;
}

/* A token whose checksum is wrong by one character. */
static const char *misspelled(void)
{
    static char token[TOKEN_TEXT + 1];

    token_make(TOKEN_LIVE, token);
    token[TOKEN_TEXT - 1] = token[TOKEN_TEXT - 1] == 'a' ? 'b' : 'a';
    return token;
}

Test(keys, of_the_retired_kind_and_with_a_wrong_checksum_are_refused_without_a_look_up)
{
    struct replica gateway;
    char unknown[TOKEN_TEXT + 1];

    replica_start(&gateway, (const char *const[]){NULL});
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(ping(&gateway, misspelled()), 401);
        cr_assert_eq(ping(&gateway, format("svc_test_%032d%06d", i, i)), 403);
        cr_assert_eq(ping(&gateway, format("svc_live_%d", i)), 401);
        cr_assert_eq(ping(&gateway, NULL), 401);
    }
    cr_assert_eq(replica_metric(&gateway, LOOKUPS), 0);
    /* The metric does count; a notice about another test's key may cause a second lookup. */
    token_make(TOKEN_LIVE, unknown);
    cr_assert_eq(ping(&gateway, unknown), 401);
    cr_assert_geq(replica_metric(&gateway, LOOKUPS), 1);
    replica_stop(&gateway);
}

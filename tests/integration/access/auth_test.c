/* Contract 5: the Authorization header, keys, scopes, plans. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "tests/support/api_client.h"
#include "tests/support/sql.h"

TestSuite(auth, .init = stack_share);

static struct client_response *ping_with(const char *header, const char *header_2)
{
    const char *headers[] = {header, header_2, NULL};

    return http_send(
        &(struct client_request){.method = "GET", .path = "/ping", .headers = headers});
}

static bool is_refused(void *closure)
{
    return api_get(closure, "/ping")->status == 401;
}

Test(auth, only_the_exact_form_of_the_header_is_taken)
{
    static const struct {
        const char *pattern; /* %s is the token */
        int status;
    } forms[] = {
        {"Authorization: Bearer %s", 200},
        {"Authorization: bearer %s", 200},
        {"Authorization: BEARER %s", 200},
        {"Authorization: Bearer  %s", 401},
        {"Authorization: Bearer\t%s", 401},
        {"Authorization: Bearer %s ", 401},
        {"Authorization: Bearer %s x", 401},
        {"Authorization: Bearer %s,", 401},
        {"Authorization: Bearer \"%s\"", 401},
        {"Authorization: Bearer%s", 401},
        {"Authorization: Bearer x%s", 401},
        {"Authorization: Token %s", 401},
        {"Authorization: Basic %s", 401},
        {"Authorization: %s", 401},
        {"X-Api-Key: %s", 401},
        {"Cookie: Authorization=Bearer %s", 401},
    };
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        const char *before = forms[i].pattern, *token = strstr(before, "%s");
        struct client_response *response = ping_with(
            format("%.*s%s%s", (int)(token - before), before, org.full_key, token + 2), NULL);

        cr_assert_eq(response->status, forms[i].status, "%s: %d", before, response->status);
        if (response->status == 401)
            expect_error(response, 401, "unauthorized", "*");
    }
}

Test(auth, two_headers_are_refused_even_when_they_are_the_same)
{
    struct org org;
    const char *header;

    org_new(&org);
    header = format("Authorization: Bearer %s", org.full_key);
    expect_error(ping_with(header, header), 401, "unauthorized", "*");
}

Test(auth, a_key_anywhere_but_in_the_header_does_not_count)
{
    struct org org;

    org_new(&org);
    expect_error(api_get(NULL, format("/ping?key=%s&access_token=%s", org.full_key, org.full_key)),
                 401, "unauthorized", "*");
    expect_error(api_post(NULL, "/conversations", format("{\"api_key\":\"%s\"}", org.full_key)),
                 401, "unauthorized", "*");
}

Test(auth, malformed_and_unknown_keys_are_refused)
{
    static const char *const keys[] = {
        "svc_live_",
        "svc_live_short",
        "svc_live_0000000000000000000000000000000000000",  /* a character short */
        "svc_live_00000000000000000000000000000000000000", /* a wrong checksum */
        "svc_live_000000000000000000000000000000000000000",
        "svc_live_00000000000000000000000000000-00000000",
        "SVC_LIVE_00000000000000000000000000000000000000",
        "svc_prod_00000000000000000000000000000000000000",
        "x",
        "null",
    };
    char unknown[TOKEN_TEXT + 1];

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        expect_error(api_get(keys[i], "/ping"), 401, "unauthorized", "*");
    token_make(TOKEN_LIVE, unknown); /* well-formed, but unknown */
    expect_error(api_get(unknown, "/ping"), 401, "unauthorized", "*");
    token_make(TOKEN_READ, unknown);
    expect_error(api_get(unknown, "/ping"), 401, "unauthorized", "*");
}

Test(auth, a_key_with_one_character_changed_is_refused)
{
    struct org org;

    org_new(&org);
    for (size_t i = 0; org.full_key[i] != '\0'; i += 5) {
        char kept = org.full_key[i];

        org.full_key[i] = kept == 'A' ? 'B' : 'A';
        expect_error(api_get(org.full_key, "/ping"), 401, "unauthorized", "*");
        org.full_key[i] = kept;
    }
    expect_status(api_get(org.full_key, "/ping"), 200);
}

Test(auth, a_key_of_the_retired_kind_has_an_answer_of_its_own)
{
    expect_error(api_get("svc_test_00000000000000000000000000000000000000", "/ping"), 403,
                 "legacy_key_not_accepted", "*");
    expect_error(api_get("svc_test_x", "/nothing"), 403, "legacy_key_not_accepted", "*");
}

Test(auth, keys_have_the_prefix_of_their_scope)
{
    struct org org;

    org_new(&org);
    cr_assert_eq(strncmp(org.full_key, "svc_live_", 9), 0);
    cr_assert_eq(strncmp(org.read_key, "svc_read_", 9), 0);
    cr_assert_eq(strlen(org.full_key), 47);
}

Test(auth, a_revoked_key_is_refused_when_that_is_announced)
{
    struct org org;
    json_t *revoked;

    org_new(&org);
    expect_status(api_get(org.read_key, "/ping"), 200);
    revoked = convctl("key", "revoke", "--org", org.id, org.read_key_id, NULL);
    cr_assert_str_eq(json_string_value(json_object_get(revoked, "id")), org.read_key_id);
    cr_assert_not(json_is_null(json_object_get(revoked, "revoked_at")));
    json_decref(revoked);
    cr_assert(stack_wait_in_force(is_refused, org.read_key));
    expect_error(api_get(org.read_key, "/ping"), 401, "unauthorized", "*");
    expect_status(api_get(org.full_key, "/ping"), 200);
}

Test(auth, a_key_ends_when_it_expires)
{
    const struct client_response *response;
    struct org org;
    const char *token;
    int64_t end_us;
    json_t *key;

    org_new(&org);
    key = convctl("key", "create", "--org", org.id, "--name", "short", "--scope", "read",
                  "--expires-in", "3", NULL);
    end_us = json_integer_value(json_object_get(key, "expires_at")) * 1000000;
    token = json_string_value(json_object_get(key, "token"));
    response = api_get(token, "/ping");
    if (clock_us() < end_us)
        expect_status(response, 200);
    cr_assert(stack_wait(is_refused, (char *)token, 30000));
    cr_assert_geq(clock_us(), end_us);
    json_decref(key);
}

Test(auth, a_read_key_reads_and_does_not_write)
{
    struct org org;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    expect_status(api_get(org.read_key, "/ping"), 200);
    expect_status(read_conversation(&org, id), 200);
    expect_status(api_get(org.read_key, "/audit"), 200);
    expect_error(api_create(org.read_key, "{}"), 403, "insufficient_scope", "*");
    expect_error(api_put(org.read_key, format("/conversations/%s", id), "{}"), 403,
                 "insufficient_scope", "*");
}

Test(auth, a_full_key_does_everything)
{
    struct org org;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    expect_status(api_get(org.full_key, format("/conversations/%s", id)), 200);
    expect_status(update_conversation(&org, id, "{\"custom_attributes\":{\"a\":1}}"), 200);
    expect_status(api_get(org.full_key, "/audit"), 200);
}

static bool is_restricted(void *closure)
{
    return api_get(closure, "/ping")->status == 403;
}

static bool is_served(void *closure)
{
    return api_get(closure, "/ping")->status == 200;
}

Test(auth, a_plan_without_the_api_is_restricted_when_that_is_announced)
{
    struct org org;
    struct client_response *response;

    org_new(&org);
    expect_status(api_get(org.full_key, "/ping"), 200);
    json_decref(convctl("org", "set", org.id, "--plan", "free", NULL));
    cr_assert(stack_wait_in_force(is_restricted, org.full_key));
    response = api_get(org.full_key, "/nothing");
    expect_error(response, 403, "api_plan_restricted", "*");
    expect_recorded(&org, response, "unknown");
    response = api_create(org.full_key, "{}");
    expect_error(response, 403, "api_plan_restricted", "*");
    expect_recorded(&org, response, "conversation.create");
    for (int i = 0; i < 3; i++) {
        static const char *const paid[] = {"starter", "growth", "enterprise"};

        json_decref(convctl("org", "set", org.id, "--plan", paid[i], NULL));
        cr_assert(stack_wait_in_force(is_served, org.full_key), "%s", paid[i]);
    }
}

Test(auth, an_address_that_fails_a_thousand_times_a_minute_has_to_wait)
{
    const struct client_request wrong = {.method = "GET",
                                         .path = "/ping",
                                         .key = "svc_live_00000000000000000000000000000000000000",
                                         .from = "127.0.0.3"};
    struct client_request elsewhere = wrong;
    struct client_response *response = http_send(&wrong);
    int failures = 0;

    /* More than twice the limit, since a new minute may begin meanwhile. */
    while (response->status == 401 && failures < 2500) {
        failures++;
        response = http_send(&wrong);
    }
    expect_error(response, 429, "rate_limit_exceeded", "*");
    cr_assert_geq(failures, 1000);
    cr_assert(http_header_integer(response, "Retry-After") >= 1 &&
              http_header_integer(response, "Retry-After") <= 60);
    elsewhere.from = "127.0.0.4";
    expect_error(http_send(&elsewhere), 401, "unauthorized", "*");
}

Test(auth, only_a_hash_of_the_key_is_stored)
{
    struct org org;

    org_new(&org);
    cr_assert_eq(
        sql_integer("SELECT count(*) FROM access.api_keys k WHERE organization_id = $1::uuid"
                    " AND k::text LIKE '%' || $2 || '%'",
                    org.id, org.full_key + 9, NULL),
        0);
    cr_assert_eq(
        sql_integer("SELECT count(*) FROM access.api_keys k WHERE organization_id = $1::uuid",
                    org.id, NULL),
        2);
}

Test(auth, a_list_of_keys_shows_no_token)
{
    struct org org;
    json_t *keys;

    org_new(&org);
    keys = convctl("key", "list", "--org", org.id, NULL);
    cr_assert_eq(json_array_size(keys), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *key = json_array_get(keys, i);
        const char *prefix = json_string_value(json_object_get(key, "prefix"));

        cr_assert_null(json_object_get(key, "token"));
        cr_assert(prefix != NULL && strlen(prefix) < 20);
    }
    json_decref(keys);
}

/* Contract 4.4: merging attributes, removing them, many at a time. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/sql.h"

TestSuite(update, .init = stack_share);

static const char *moved_at(const char *id)
{
    return sql_text("SELECT updated_at FROM conversation.conversations WHERE id = $1::uuid", id,
                    NULL);
}

/* {"custom_attributes":{"k<from>":<from>,...}} of `n` keys */
static char *body_with_keys(int from, int n)
{
    char *body = format("%4096s", "");
    size_t at = (size_t)sprintf(body, "{\"custom_attributes\":{");

    for (int i = from; i < from + n; i++)
        at += (size_t)sprintf(body + at, "%s\"k%d\":%d", i > from ? "," : "", i, i);
    sprintf(body + at, "}}");
    return body;
}

Test(update, merges_given_keys_and_keeps_the_others)
{
    struct org org;
    struct client_response *response;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    expect_status(update_conversation(&org, id, "{\"custom_attributes\":{\"a\":1,\"b\":\"x\"}}"),
                  200);
    response = update_conversation(&org, id, "{\"custom_attributes\":{\"b\":true,\"c\":2.5}}");
    expect_status(response, 200);
    expect_json(response, "custom_attributes", "{\"a\":1,\"b\":true,\"c\":2.5}");
    expect_text(response, "id", id);
    expect_text(response, "type", "conversation");
    expect_text(response, "contact.external_id", "c");
    expect_recorded(&org, response, "conversation.update");
    cr_assert(json_equal(read_conversation(&org, id)->json, response->json));
}

Test(update, null_removes_and_removing_an_absent_key_is_not_an_error)
{
    struct org org;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    update_conversation(&org, id, "{\"custom_attributes\":{\"a\":1,\"b\":2}}");
    expect_json(update_conversation(&org, id, "{\"custom_attributes\":{\"a\":null,\"z\":null}}"),
                "custom_attributes", "{\"b\":2}");
    expect_json(update_conversation(&org, id, "{\"custom_attributes\":{\"b\":null}}"),
                "custom_attributes", "{}");
}

Test(update, keys_are_case_sensitive)
{
    struct org org;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    update_conversation(&org, id, "{\"custom_attributes\":{\"Plan\":1,\"plan\":2}}");
    expect_json(
        update_conversation(&org, id, "{\"custom_attributes\":{\"PLAN\":null,\"plan\":null}}"),
        "custom_attributes", "{\"Plan\":1}");
}

Test(update, moves_updated_at_and_nothing_else)
{
    struct org org;
    struct client_response *before, *after;
    const char *id, *moved;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    before = read_conversation(&org, id);
    moved = moved_at(id);
    after = update_conversation(&org, id, "{\"custom_attributes\":{}}");
    expect_status(after, 200);
    cr_assert_str_neq(moved_at(id), moved);
    cr_assert_geq(integer_at(after, "updated_at"), integer_at(before, "updated_at"));
    json_object_del(before->json, "updated_at");
    json_object_del(after->json, "updated_at");
    cr_assert(json_equal(before->json, after->json));
}

Test(update, the_same_again_gives_the_same)
{
    struct org org;
    struct client_response *first, *again;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    first = update_conversation(&org, id, "{\"custom_attributes\":{\"a\":1,\"b\":null}}");
    again = update_conversation(&org, id, "{\"custom_attributes\":{\"a\":1,\"b\":null}}");
    expect_status(again, 200);
    cr_assert(json_equal(at(first, "custom_attributes"), at(again, "custom_attributes")));
}

Test(update, twenty_keys_fit_and_the_next_one_changes_nothing)
{
    struct org org;
    struct client_response *full, *refused;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    full = update_conversation(&org, id, "%s", body_with_keys(0, 20));
    expect_status(full, 200);
    refused = update_conversation(&org, id, "{\"custom_attributes\":{\"k0\":99,\"new\":1}}");
    expect_error(refused, 400, "parameter_invalid", "custom_attributes");
    expect_text(refused, "errors[0].message", "custom_attributes must not have more than 20 keys");
    expect_recorded(&org, refused, "conversation.update");
    cr_assert(json_equal(at(read_conversation(&org, id), "custom_attributes"),
                         at(full, "custom_attributes")));
    expect_status(update_conversation(&org, id, "{\"custom_attributes\":{\"k0\":99}}"), 200);
}

Test(update, keys_removed_in_the_same_request_make_room)
{
    struct org org;
    struct client_response *response;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    update_conversation(&org, id, "%s", body_with_keys(0, 20));
    response = update_conversation(&org, id, "{\"custom_attributes\":{\"new\":1,\"k0\":null}}");
    expect_status(response, 200);
    cr_assert_eq(json_object_size(at(response, "custom_attributes")), 20);
    expect_error(
        update_conversation(&org, id, "{\"custom_attributes\":{\"x\":1,\"y\":2,\"k1\":null}}"), 400,
        "parameter_invalid", "custom_attributes");
}

Test(update, twenty_one_keys_at_once_are_too_many_on_create_and_update)
{
    struct org org;
    const char *id;
    const char *attributes = strchr(body_with_keys(0, 21), ':') + 1;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    expect_error(update_conversation(&org, id, "{\"custom_attributes\":%s", attributes), 400,
                 "parameter_invalid", "custom_attributes");
    expect_error(api_create(org.full_key,
                            "{\"external_id\":\"f\",\"from\":{\"external_id\":\"c\"},"
                            "\"custom_attributes\":%s",
                            attributes),
                 400, "parameter_invalid", "custom_attributes");
    expect_json(read_conversation(&org, id), "custom_attributes", "{}");
}

Test(update, of_twenty_clients_that_each_set_another_key_none_is_lost)
{
    enum { N = 20, ROUNDS = 5 };
    struct client_request requests[N];
    struct client_response *responses[N];
    struct org org;
    const char *path;

    org_new(&org);
    for (int round = 0; round < ROUNDS; round++) {
        const char *id = new_conversation(&org, format("e%d", round), "c");
        struct client_response *after;

        path = format("/conversations/%s", id);
        for (int i = 0; i < N; i++)
            requests[i] = (struct client_request){
                .method = "PUT", .path = path, .key = org.full_key, .body = body_with_keys(i, 1)};
        api_send_together(requests, N, responses);
        for (int i = 0; i < N; i++) {
            expect_status(responses[i], 200);
            expect_integer(responses[i], format("custom_attributes.k%d", i), i);
            expect_recorded(&org, responses[i], "conversation.update");
        }
        after = read_conversation(&org, id);
        cr_assert_eq(json_object_size(at(after, "custom_attributes")), N);
        for (int i = 0; i < N; i++)
            expect_integer(after, format("custom_attributes.k%d", i), i);
    }
}

Test(update, clients_that_race_over_the_last_place_never_exceed_twenty)
{
    enum { N = 20 };
    struct client_request requests[N];
    struct client_response *responses[N];
    struct org org;
    const char *id, *path;
    int taken = 0;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    update_conversation(&org, id, "%s", body_with_keys(100, 15));
    path = format("/conversations/%s", id);
    for (int i = 0; i < N; i++)
        requests[i] = (struct client_request){
            .method = "PUT", .path = path, .key = org.full_key, .body = body_with_keys(i, 1)};
    api_send_together(requests, N, responses);
    for (int i = 0; i < N; i++) {
        taken += responses[i]->status == 200;
        if (responses[i]->status != 200)
            expect_error(responses[i], 400, "parameter_invalid", "custom_attributes");
    }
    cr_assert_eq(taken, 5);
    cr_assert_eq(json_object_size(at(read_conversation(&org, id), "custom_attributes")), 20);
}

Test(update, only_attributes_can_be_written)
{
    static const struct {
        const char *body, *code, *field;
    } wrongs[] = {
        {"{}", "parameter_not_found", "custom_attributes"},
        {"{\"custom_attributes\":null}", "parameter_invalid", "custom_attributes"},
        {"{\"custom_attributes\":7}", "parameter_invalid", "custom_attributes"},
        {"{\"custom_attributes\":{},\"status\":\"resolved\"}", "parameter_invalid", "status"},
        {"{\"custom_attributes\":{},\"state\":\"closed\"}", "parameter_invalid", "state"},
        {"{\"custom_attributes\":{},\"channel\":\"email\"}", "parameter_invalid", "channel"},
        {"{\"custom_attributes\":{},\"external_id\":\"x\"}", "parameter_invalid", "external_id"},
        {"{\"custom_attributes\":{},\"from\":{}}", "parameter_invalid", "from"},
        {"{\"custom_attributes\":{},\"assignee\":1}", "parameter_invalid", "assignee"},
        {"{\"custom_attributes\":{},\"organization_id\":\"x\"}", "parameter_invalid",
         "organization_id"},
        {"{\"custom_attributes\":{},\"workspace_id\":\"x\"}", "parameter_invalid", "workspace_id"},
        {"{\"custom_attributes\":{\"a\":1,\"a\":2}}", "invalid_json", "*"},
        {"[]", "parameter_invalid", "*"},
        {"", "invalid_json", "*"},
    };
    struct org org;
    const char *id, *moved;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    moved = moved_at(id);
    for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++)
        expect_error(update_conversation(&org, id, "%s", wrongs[i].body), 400, wrongs[i].code,
                     wrongs[i].field);
    cr_assert_str_eq(moved_at(id), moved);
}

Test(update, wrong_deleted_and_foreign_ids_are_not_found)
{
    struct org org, other;
    const char *deleted, *foreign;

    org_new(&org);
    org_new(&other);
    deleted = new_conversation(&org, "e", "c");
    foreign = new_conversation(&other, "e", "c");
    json_decref(convctl("conversation", "delete", "--org", org.id, deleted, NULL));
    expect_error(update_conversation(&org, "nonsense", "{\"custom_attributes\":{\"a\":1}}"), 404,
                 "not_found", "*");
    expect_error(update_conversation(&org, deleted, "{\"custom_attributes\":{\"a\":1}}"), 404,
                 "not_found", "*");
    expect_error(update_conversation(&org, foreign, "{\"custom_attributes\":{\"a\":1}}"), 404,
                 "not_found", "*");
    expect_json(read_conversation(&other, foreign), "custom_attributes", "{}");
}

Test(update, works_in_every_status)
{
    static const char *const statuses[] = {"waiting", "human_takeover", "resolved", "archived"};
    struct org org;
    const char *id;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    for (int i = 0; i < 4; i++) {
        struct client_response *response;

        json_decref(convctl("conversation", "set-status", "--org", org.id, id, statuses[i], NULL));
        response = update_conversation(&org, id, "{\"custom_attributes\":{\"n\":%d}}", i);
        expect_status(response, 200);
        expect_text(response, "status", statuses[i]);
    }
}

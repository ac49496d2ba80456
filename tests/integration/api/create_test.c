/* Contract 4.2 and 3.1: creating, every rule of retrying, races. The fields are in
 * create_fields_test.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/api_client.h"
#include "tests/support/sql.h"
#include "tests/support/webhooks.h"

TestSuite(create, .init = stack_share);

static void expect_created(const struct client_response *response)
{
    const char *location = http_header(response, "Location");

    expect_status(response, 201);
    cr_assert_not_null(location);
    cr_assert_str_eq(location, format("/api/v1/conversations/%s", text_at(response, "id")));
    cr_assert_null(http_header(response, "X-Service-Idempotent-Replay"));
}

static void expect_replayed(const struct client_response *response, const char *id)
{
    const char *replay = http_header(response, "X-Service-Idempotent-Replay");

    expect_status(response, 200);
    cr_assert(replay != NULL && strcmp(replay, "true") == 0);
    cr_assert_null(http_header(response, "Location"), "nothing was made");
    expect_text(response, "id", id);
}

static int64_t count_rows(const char *table, const struct org *org)
{
    return sql_integer(format("SELECT count(*) FROM %s WHERE organization_id = $1::uuid", table),
                       org->id, NULL);
}

Test(create, a_new_external_id_gives_an_empty_open_conversation)
{
    struct org org;
    struct client_response *response;

    org_new(&org);
    response = api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}");
    expect_created(response);
    expect_text(response, "state", "open");
    expect_json(response, "open", "true");
    expect_text(response, "status", "active");
    expect_integer(response, "message_count", 0);
    expect_null(response, "last_message_at");
    expect_recorded(&org, response, "conversation.create");
    cr_assert_eq(count_rows("conversation.conversations", &org), 1);
    cr_assert_eq(count_rows("conversation.messages", &org), 0);
}

Test(create, the_entry_in_the_audit_log_names_conversation_and_contact)
{
    struct org org;
    struct client_response *response;

    org_new(&org);
    response = api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}");
    cr_assert_eq(sql_integer("SELECT count(*) FROM audit.entries WHERE organization_id = $1::uuid"
                             " AND request_id = $2::uuid AND conversation_id = $3::uuid"
                             " AND contact_id = $4::uuid AND api_key_id = $5::uuid",
                             org.id, response->request_id, text_at(response, "id"),
                             text_at(response, "contact.id"), org.full_key_id, NULL),
                 1);
}

Test(create, the_same_again_replays_and_writes_nothing)
{
    struct org org;
    const char *body = "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\",\"name\":\"A\"},"
                       "\"custom_attributes\":{\"a\":1}}";
    struct client_response *first, *again;

    org_new(&org);
    webhook_watch(&org);
    first = api_post(org.full_key, "/conversations", body);
    expect_created(first);
    again = api_post(org.full_key, "/conversations", body);
    expect_replayed(again, text_at(first, "id"));
    cr_assert(json_equal(first->json, again->json));
    expect_recorded(&org, again, "conversation.create");
    cr_assert_eq(count_rows("conversation.conversations", &org), 1);
    cr_assert_eq(count_rows("conversation.contacts", &org), 1);
    cr_assert_eq(count_rows("webhook.events", &org), 1);
}

Test(create, a_replay_with_other_attributes_and_profile_changes_nothing)
{
    struct org org;
    struct client_response *first, *again;

    org_new(&org);
    first = api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\","
                                     "\"name\":\"A\",\"email\":\"a@x.org\"},"
                                     "\"custom_attributes\":{\"a\":1}}");
    again = api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\","
                                     "\"name\":\"B\",\"email\":\"b@x.org\",\"phone\":\"1\"},"
                                     "\"custom_attributes\":{\"b\":2}}");
    expect_replayed(again, text_at(first, "id"));
    cr_assert(json_equal(first->json, again->json));
}

Test(create, a_replay_by_the_contacts_id_is_a_replay_too)
{
    struct org org;
    struct client_response *first;

    org_new(&org);
    first = api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}");
    expect_replayed(api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"id\":\"%s\"}}",
                               text_at(first, "contact.id")),
                    text_at(first, "id"));
}

Test(create, a_replay_shows_the_conversation_as_it_is_now)
{
    struct org org;
    const char *id;
    struct client_response *again;

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    json_decref(convctl("conversation", "set-status", "--org", org.id, id, "resolved", NULL));
    again = api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}");
    expect_replayed(again, id);
    expect_text(again, "status", "resolved");
    expect_text(again, "state", "closed");
}

Test(create, the_external_id_of_another_contact_is_a_conflict)
{
    struct org org;
    const char *id;
    struct client_response *response;

    org_new(&org);
    id = new_conversation(&org, "e", "c1");
    response = api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c2\","
                                        "\"name\":\"N\"},\"custom_attributes\":{\"a\":1}}");
    expect_error(response, 409, "external_id_conflict", "external_id");
    expect_recorded(&org, response, "conversation.create");
    expect_json(read_conversation(&org, id), "custom_attributes", "{}");
    cr_assert_eq(count_rows("conversation.conversations", &org), 1);
    cr_assert_eq(count_rows("conversation.contacts", &org), 1);
}

Test(create, the_external_id_of_a_deleted_conversation_stays_taken)
{
    struct org org;

    org_new(&org);
    json_decref(
        convctl("conversation", "delete", "--org", org.id, new_conversation(&org, "e", "c"), NULL));
    expect_error(
        api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}"), 409,
        "external_id_conflict", "external_id");
}

Test(create, external_ids_of_two_organizations_are_independent)
{
    struct org org, other;

    org_new(&org);
    org_new(&other);
    cr_assert_str_neq(new_conversation(&org, "e", "c"), new_conversation(&other, "e", "c"));
    expect_status(api_create(other.full_key, "{\"external_id\":\"f\",\"from\":{\"id\":\"%s\"}}",
                             sql_text("SELECT id FROM conversation.contacts"
                                      " WHERE organization_id = $1::uuid",
                                      org.id, NULL)),
                  404);
}

Test(create, identifiers_are_case_sensitive)
{
    struct org org;

    org_new(&org);
    cr_assert_str_neq(new_conversation(&org, "E", "c"), new_conversation(&org, "e", "C"));
    cr_assert_eq(count_rows("conversation.contacts", &org), 2);
}

Test(create, an_existing_contact_is_found_by_either_id)
{
    struct org org;
    struct client_response *first, *second;
    const char *contact;

    org_new(&org);
    first = api_create(org.full_key, "{\"external_id\":\"1\",\"from\":{\"external_id\":\"c\"}}");
    contact = text_at(first, "contact.id");
    second = api_create(org.full_key, "{\"external_id\":\"2\",\"from\":{\"id\":\"%s\"}}", contact);
    expect_created(second);
    expect_text(second, "contact.id", contact);
    expect_text(second, "contact.external_id", "c");
}

Test(create, an_unknown_contact_id_is_not_found)
{
    static const char *const ids[] = {"01890000-0000-7000-8000-000000000000",
                                      "00000000-0000-0000-0000-000000000000"};
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < 2; i++) {
        struct client_response *response =
            api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"id\":\"%s\"}}", ids[i]);

        expect_error(response, 404, "not_found", "*");
        expect_recorded(&org, response, "conversation.create");
    }
    cr_assert_eq(count_rows("conversation.conversations", &org), 0);
}

Test(create, the_four_types_of_customer_are_one)
{
    static const char *const types[] = {"contact", "user", "lead", "customer"};
    struct org org;
    const char *contact = NULL;

    org_new(&org);
    for (int i = 0; i < 4; i++) {
        struct client_response *response =
            api_create(org.full_key,
                       "{\"external_id\":\"e%d\",\"from\":{\"type\":\"%s\","
                       "\"external_id\":\"c\"}}",
                       i, types[i]);

        expect_created(response);
        expect_text(response, "contact.type", "contact");
        if (contact == NULL)
            contact = text_at(response, "contact.id");
        expect_text(response, "contact.id", contact);
    }
}

Test(create, null_attributes_are_not_stored)
{
    struct org org;

    org_new(&org);
    expect_json(api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"},"
                                         "\"custom_attributes\":{\"a\":null,\"b\":true}}"),
                "custom_attributes", "{\"b\":true}");
}

/* -- races --------------------------------------------------------------------------------------
 */

Test(create, of_fifty_identical_creates_one_creates_the_conversation)
{
    enum { N = 50, ROUNDS = 4 };
    struct client_request requests[N];
    struct client_response *responses[N];
    struct org org;

    org_new(&org);
    webhook_watch(&org);
    for (int round = 0; round < ROUNDS; round++) {
        int created = 0;

        for (int i = 0; i < N; i++)
            requests[i] = (struct client_request){
                .method = "POST",
                .path = "/conversations",
                .key = org.full_key,
                .body = format("{\"external_id\":\"race-%d\",\"from\":{\"external_id\":\"c-%d\","
                               "\"email\":\"c%d@x.org\"},\"custom_attributes\":{\"a\":1}}",
                               round, round, round)};
        api_send_together(requests, N, responses);
        for (int i = 0; i < N; i++) {
            created += responses[i]->status == 201;
            if (responses[i]->status != 201)
                expect_replayed(responses[i], text_at(responses[0], "id"));
            expect_text(responses[i], "id", text_at(responses[0], "id"));
            expect_recorded(&org, responses[i], "conversation.create");
        }
        cr_assert_eq(created, 1, "%d were answered 201", created);
    }
    cr_assert_eq(count_rows("conversation.conversations", &org), ROUNDS);
    cr_assert_eq(count_rows("conversation.contacts", &org), ROUNDS);
    cr_assert_eq(count_rows("webhook.events", &org), ROUNDS);
}

Test(create, fifty_conversations_of_one_new_contact_share_it)
{
    enum { N = 50 };
    struct client_request requests[N];
    struct client_response *responses[N];
    struct org org;

    org_new(&org);
    for (int i = 0; i < N; i++)
        requests[i] = (struct client_request){
            .method = "POST",
            .path = "/conversations",
            .key = org.full_key,
            .body = format("{\"external_id\":\"e%d\",\"from\":{\"external_id\":\"c\"}}", i)};
    api_send_together(requests, N, responses);
    for (int i = 0; i < N; i++) {
        expect_created(responses[i]);
        expect_text(responses[i], "contact.id", text_at(responses[0], "contact.id"));
    }
    cr_assert_eq(count_rows("conversation.contacts", &org), 1);
}

Test(create, of_two_contacts_racing_for_an_external_id_one_wins)
{
    enum { N = 20 };
    struct client_request requests[N];
    struct client_response *responses[N];
    struct org org;
    int created = 0, conflicts = 0;

    org_new(&org);
    for (int i = 0; i < N; i++)
        requests[i] = (struct client_request){
            .method = "POST",
            .path = "/conversations",
            .key = org.full_key,
            .body = format("{\"external_id\":\"e\",\"from\":{\"external_id\":\"c%d\"}}", i)};
    api_send_together(requests, N, responses);
    for (int i = 0; i < N; i++) {
        created += responses[i]->status == 201;
        conflicts += responses[i]->status == 409;
        if (responses[i]->status == 409)
            expect_error(responses[i], 409, "external_id_conflict", "external_id");
    }
    cr_assert_eq(created, 1);
    cr_assert_eq(conflicts, N - 1);
    cr_assert_eq(count_rows("conversation.conversations", &org), 1);
    cr_assert_eq(count_rows("conversation.contacts", &org), 1);
}

/* -- events -------------------------------------------------------------------------------------
 */

Test(create, a_new_conversation_leaves_an_event_and_a_refused_one_none)
{
    struct org org;
    const char *id;

    org_new(&org);
    webhook_watch(&org);
    id = new_conversation(&org, "e", "c");
    cr_assert_eq(count_rows("webhook.events", &org), 1);
    expect_status(
        api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"d\"}}"), 409);
    expect_status(
        api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"external_id\":\"c\"}}"), 200);
    cr_assert_eq(count_rows("webhook.events", &org), 1);
    cr_assert_eq(
        sql_integer("SELECT count(*) FROM webhook.events e WHERE organization_id = $1::uuid"
                    " AND e::text LIKE '%conversation.created%'"
                    " AND e::text LIKE '%' || $2 || '%'",
                    org.id, id, NULL),
        1);
}

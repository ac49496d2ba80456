/* Contract 4.3, 2.1 and 2.2: reading one conversation by its id. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/api_client.h"

TestSuite(get, .init = stack_share);

#define CONVERSATION                                                                               \
    "type id external_id created_at updated_at last_message_at channel source state open status "  \
    "custom_attributes message_count contact contacts"

Test(get, returns_every_field_of_a_conversation_and_no_other)
{
    struct org org;
    struct client_response *response, *created;
    const char *id;

    org_new(&org);
    created = api_create(org.full_key, "{\"external_id\":\"order-1\",\"from\":{\"type\":\"lead\","
                                       "\"external_id\":\"u1\",\"name\":\"Ada\","
                                       "\"email\":\"Ada@Example.ORG\",\"phone\":\" +49 1 \"},"
                                       "\"custom_attributes\":{\"plan\":\"pro\",\"n\":1.5}}");
    expect_status(created, 201);
    id = text_at(created, "id");
    response = read_conversation(&org, id);
    expect_status(response, 200);
    cr_assert(json_equal(response->json, created->json));
    expect_members(response->json, CONVERSATION);
    expect_text(response, "type", "conversation");
    expect_uuid(id);
    expect_text(response, "external_id", "order-1");
    cr_assert_leq(llabs(integer_at(response, "created_at") - (long long)time(NULL)), 60);
    expect_integer(response, "updated_at", integer_at(response, "created_at"));
    expect_null(response, "last_message_at");
    expect_text(response, "channel", "api");
    expect_json(response, "source", "{\"type\":\"api\"}");
    expect_text(response, "state", "open");
    expect_json(response, "open", "true");
    expect_text(response, "status", "active");
    expect_json(response, "custom_attributes", "{\"plan\":\"pro\",\"n\":1.5}");
    expect_integer(response, "message_count", 0);
    expect_members(at(response, "contact"), "type id external_id name email phone");
    expect_text(response, "contact.type", "contact");
    expect_uuid(text_at(response, "contact.id"));
    expect_text(response, "contact.external_id", "u1");
    expect_text(response, "contact.name", "Ada");
    expect_text(response, "contact.email", "ada@example.org");
    expect_text(response, "contact.phone", "+49 1");
    expect_members(at(response, "contacts"), "type contacts");
    expect_text(response, "contacts.type", "contact.list");
    cr_assert_eq(json_array_size(at(response, "contacts.contacts")), 1);
    expect_members(at(response, "contacts.contacts[0]"), "type id external_id");
    expect_text(response, "contacts.contacts[0].type", "contact");
    expect_text(response, "contacts.contacts[0].id", text_at(response, "contact.id"));
    expect_text(response, "contacts.contacts[0].external_id", "u1");
    expect_recorded(&org, response, "conversation.get");
}

Test(get, absent_values_are_null)
{
    struct org org;
    struct client_response *response;

    org_new(&org);
    response = read_conversation(&org, new_conversation(&org, "e", "c"));
    expect_null(response, "contact.name");
    expect_null(response, "contact.email");
    expect_null(response, "contact.phone");
    expect_json(response, "custom_attributes", "{}");
}

Test(get, absent_deleted_and_foreign_conversations_give_the_same_answer)
{
    struct org org, other;
    const char *mine, *deleted, *foreign;
    struct client_response *responses[3];

    org_new(&org);
    org_new(&other);
    mine = new_conversation(&org, "mine", "c");
    deleted = new_conversation(&org, "deleted", "c");
    foreign = new_conversation(&other, "foreign", "c");
    json_decref(convctl("conversation", "delete", "--org", org.id, deleted, NULL));
    responses[0] = read_conversation(&org, "01890000-0000-7000-8000-000000000000");
    responses[1] = read_conversation(&org, deleted);
    responses[2] = read_conversation(&org, foreign);
    for (int i = 0; i < 3; i++) {
        expect_error(responses[i], 404, "not_found", "*");
        expect_text(responses[i], "errors[0].message", text_at(responses[0], "errors[0].message"));
        expect_recorded(&org, responses[i], "conversation.get");
    }
    expect_status(read_conversation(&org, mine), 200);
    expect_status(read_conversation(&other, mine), 404);
    expect_status(read_conversation(&other, foreign), 200);
}

Test(get, an_id_that_is_not_a_lower_case_uuid_is_not_found)
{
    struct org org;
    const char *id;
    char upper[37];

    org_new(&org);
    id = new_conversation(&org, "e", "c");
    for (int i = 0; i <= 36; i++)
        upper[i] = (char)(id[i] >= 'a' && id[i] <= 'f' ? id[i] - 'a' + 'A' : id[i]);
    if (strcmp(upper, id) != 0)
        expect_error(read_conversation(&org, upper), 404, "not_found", "*");
    expect_error(read_conversation(&org, "1"), 404, "not_found", "*");
    expect_error(read_conversation(&org, format("%s0", id)), 404, "not_found", "*");
    expect_error(read_conversation(&org, format("{%s}", id)), 404, "not_found", "*");
    expect_error(read_conversation(&org, format("%%20%s", id)), 404, "not_found", "*");
    expect_error(read_conversation(&org, "%00"), 404, "not_found", "*");
    expect_error(read_conversation(&org, format("%0200d", 7)), 404, "not_found", "*");
    expect_error(read_conversation(&org, "'%20or%201=1--"), 404, "not_found", "*");
}

Test(get, ignores_a_query_string)
{
    struct org org;

    org_new(&org);
    expect_status(
        read_conversation(&org, format("%s?include=messages", new_conversation(&org, "e", "c"))),
        200);
}

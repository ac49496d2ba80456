/* Contract 4.3, 2.1, 2.2. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/api.h"

TestSuite(get, .init = api_open, .timeout = 60);

#define CONVERSATION                                                                               \
    "type id external_id created_at updated_at last_message_at channel source state open status "  \
    "custom_attributes message_count contact contacts"

Test(get, returns_every_field_of_a_conversation_and_no_other)
{
    struct org org;
    struct answer *answer, *created;
    const char *id;

    org_new(&org);
    created = api_create(org.full_key, "{\"external_id\":\"order-1\",\"from\":{\"type\":\"lead\","
                                       "\"external_id\":\"u1\",\"name\":\"Ada\","
                                       "\"email\":\"Ada@Example.ORG\",\"phone\":\" +49 1 \"},"
                                       "\"custom_attributes\":{\"plan\":\"pro\",\"n\":1.5}}");
    expect_status(created, 201);
    id = text_at(created, "id");
    answer = read_conversation(&org, id);
    expect_status(answer, 200);
    cr_assert(json_equal(answer->json, created->json));
    expect_members(answer->json, CONVERSATION);
    expect_text(answer, "type", "conversation");
    expect_uuid(id);
    expect_text(answer, "external_id", "order-1");
    cr_assert_leq(llabs(integer_at(answer, "created_at") - (long long)time(NULL)), 60);
    expect_integer(answer, "updated_at", integer_at(answer, "created_at"));
    expect_null(answer, "last_message_at");
    expect_text(answer, "channel", "api");
    expect_json(answer, "source", "{\"type\":\"api\"}");
    expect_text(answer, "state", "open");
    expect_json(answer, "open", "true");
    expect_text(answer, "status", "active");
    expect_json(answer, "custom_attributes", "{\"plan\":\"pro\",\"n\":1.5}");
    expect_integer(answer, "message_count", 0);
    expect_members(at(answer, "contact"), "type id external_id name email phone");
    expect_text(answer, "contact.type", "contact");
    expect_uuid(text_at(answer, "contact.id"));
    expect_text(answer, "contact.external_id", "u1");
    expect_text(answer, "contact.name", "Ada");
    expect_text(answer, "contact.email", "ada@example.org");
    expect_text(answer, "contact.phone", "+49 1");
    expect_members(at(answer, "contacts"), "type contacts");
    expect_text(answer, "contacts.type", "contact.list");
    cr_assert_eq(json_array_size(at(answer, "contacts.contacts")), 1);
    expect_members(at(answer, "contacts.contacts[0]"), "type id external_id");
    expect_text(answer, "contacts.contacts[0].type", "contact");
    expect_text(answer, "contacts.contacts[0].id", text_at(answer, "contact.id"));
    expect_text(answer, "contacts.contacts[0].external_id", "u1");
    expect_recorded(&org, answer, "conversation.get");
}

Test(get, what_was_not_given_is_null)
{
    struct org org;
    struct answer *answer;

    org_new(&org);
    answer = read_conversation(&org, new_conversation(&org, "e", "c"));
    expect_null(answer, "contact.name");
    expect_null(answer, "contact.email");
    expect_null(answer, "contact.phone");
    expect_json(answer, "custom_attributes", "{}");
}

Test(get, absent_deleted_and_foreign_conversations_give_the_same_answer)
{
    struct org org, other;
    const char *mine, *deleted, *foreign;
    struct answer *answers[3];

    org_new(&org);
    org_new(&other);
    mine = new_conversation(&org, "mine", "c");
    deleted = new_conversation(&org, "deleted", "c");
    foreign = new_conversation(&other, "foreign", "c");
    json_decref(convctl("conversation", "delete", "--org", org.id, deleted, NULL));
    answers[0] = read_conversation(&org, "01890000-0000-7000-8000-000000000000");
    answers[1] = read_conversation(&org, deleted);
    answers[2] = read_conversation(&org, foreign);
    for (int i = 0; i < 3; i++) {
        expect_error(answers[i], 404, "not_found", "*");
        expect_text(answers[i], "errors[0].message", text_at(answers[0], "errors[0].message"));
        expect_recorded(&org, answers[i], "conversation.get");
    }
    expect_status(read_conversation(&org, mine), 200);
    expect_status(read_conversation(&other, mine), 404);
    expect_status(read_conversation(&other, foreign), 200);
}

Test(get, an_id_that_is_no_lower_case_uuid_is_simply_absent)
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

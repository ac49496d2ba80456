/* Contract 2.2 and the rules of 4.2 that are about the customer: profile, conflicts, erasure. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/api_client.h"
#include "tests/support/sql.h"

TestSuite(contacts, .init = stack_share);

/* A create of conversation `e` whose `from` has these members. */
static struct client_response *create(const struct org *org, const char *e, const char *members)
{
    return api_create(org->full_key, "{\"external_id\":\"%s\",\"from\":{%s}}", e, members);
}

static struct client_response *created(const struct org *org, const char *e, const char *members)
{
    struct client_response *response = create(org, e, members);

    expect_status(response, 201);
    return response;
}

Test(contacts, an_email_is_stored_and_compared_in_lower_case)
{
    struct org org;

    org_new(&org);
    expect_text(created(&org, "1", "\"external_id\":\"a\",\"email\":\"Ada@EXAMPLE.org\""),
                "contact.email", "ada@example.org");
    expect_error(create(&org, "2", "\"external_id\":\"b\",\"email\":\"ADA@example.ORG\""), 409,
                 "customer_profile_conflict", "from.email");
}

Test(contacts, a_phone_is_trimmed_and_compared_trimmed)
{
    struct org org;

    org_new(&org);
    expect_text(created(&org, "1", "\"external_id\":\"a\",\"phone\":\" \\t+49 30 1\\u00a0\""),
                "contact.phone", "+49 30 1");
    expect_error(create(&org, "2", "\"external_id\":\"b\",\"phone\":\"+49 30 1  \""), 409,
                 "customer_profile_conflict", "from.phone");
}

Test(contacts, the_profile_of_another_active_contact_is_a_conflict_that_names_it)
{
    struct org org;
    struct client_response *first, *refused;

    org_new(&org);
    first = created(&org, "1", "\"external_id\":\"a\",\"email\":\"a@x.org\",\"phone\":\"1\"");
    refused = create(&org, "2", "\"external_id\":\"b\",\"email\":\"a@x.org\"");
    expect_error(refused, 409, "customer_profile_conflict", "from.email");
    expect_text(refused, "errors[0].message",
                format("belongs to another contact, %s", text_at(first, "contact.id")));
    expect_recorded(&org, refused, "conversation.create");
    refused = create(&org, "2", "\"external_id\":\"b\",\"phone\":\"1\"");
    expect_error(refused, 409, "customer_profile_conflict", "from.phone");
    cr_assert_eq(sql_integer("SELECT count(*) FROM conversation.contacts"
                             " WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 1);
    expect_status(create(&org, "2", "\"external_id\":\"b\",\"email\":\"b@x.org\""), 201);
}

/* The two that docs/api.md names. */
Test(contacts, there_are_two_ways_out_of_a_conflict)
{
    struct org org;
    struct client_response *first;
    const char *from;

    org_new(&org);
    first = created(&org, "1", "\"external_id\":\"a\",\"email\":\"a@x.org\"");
    from = format("\"id\":\"%s\",\"email\":\"a@x.org\"", text_at(first, "contact.id"));
    expect_status(create(&org, "2", "\"external_id\":\"b\",\"email\":\"a@x.org\""), 409);
    expect_text(created(&org, "2", from), "contact.external_id", "a");
    expect_text(created(&org, "3", "\"external_id\":\"b\""), "contact.external_id", "b");
}

Test(contacts, an_existing_one_cannot_take_another_contacts_email)
{
    struct org org;

    org_new(&org);
    created(&org, "1", "\"external_id\":\"a\",\"email\":\"a@x.org\"");
    created(&org, "2", "\"external_id\":\"b\",\"email\":\"b@x.org\",\"name\":\"B\"");
    expect_error(create(&org, "3", "\"external_id\":\"b\",\"email\":\"a@x.org\",\"name\":\"C\""),
                 409, "customer_profile_conflict", "from.email");
    expect_text(created(&org, "4", "\"external_id\":\"b\""), "contact.name", "B");
}

Test(contacts, its_own_email_is_not_a_conflict)
{
    struct org org;

    org_new(&org);
    created(&org, "1", "\"external_id\":\"a\",\"email\":\"a@x.org\",\"phone\":\"1\"");
    expect_text(created(&org, "2", "\"external_id\":\"a\",\"email\":\"A@x.org\",\"phone\":\"1\""),
                "contact.email", "a@x.org");
}

Test(contacts, profiles_of_two_organizations_do_not_conflict)
{
    struct org org, other;

    org_new(&org);
    org_new(&other);
    created(&org, "1", "\"external_id\":\"a\",\"email\":\"a@x.org\",\"phone\":\"1\"");
    created(&other, "1", "\"external_id\":\"a\",\"email\":\"a@x.org\",\"phone\":\"1\"");
}

Test(contacts, a_new_conversation_updates_what_it_gives_and_keeps_the_rest)
{
    struct org org;
    struct client_response *first, *second;

    org_new(&org);
    first = created(&org, "1",
                    "\"external_id\":\"a\",\"name\":\"A\",\"email\":\"a@x.org\","
                    "\"phone\":\"1\"");
    second = created(&org, "2", "\"external_id\":\"a\",\"name\":\"AA\",\"phone\":\"2\"");
    expect_text(second, "contact.id", text_at(first, "contact.id"));
    expect_text(second, "contact.name", "AA");
    expect_text(second, "contact.email", "a@x.org");
    expect_text(second, "contact.phone", "2");
    /* The live profile shows in the older conversation too. */
    expect_text(read_conversation(&org, text_at(first, "id")), "contact.name", "AA");
}

Test(contacts, a_value_that_was_given_up_is_free_again)
{
    struct org org;

    org_new(&org);
    created(&org, "1", "\"external_id\":\"a\",\"email\":\"old@x.org\"");
    created(&org, "2", "\"external_id\":\"a\",\"email\":\"new@x.org\"");
    expect_text(created(&org, "3", "\"external_id\":\"b\",\"email\":\"old@x.org\""),
                "contact.email", "old@x.org");
}

Test(contacts, of_two_that_race_for_an_email_one_gets_it)
{
    enum { N = 20 };
    struct client_request requests[N];
    struct client_response *responses[N];
    struct org org;
    int made = 0;

    org_new(&org);
    for (int i = 0; i < N; i++)
        requests[i] = (struct client_request){
            .method = "POST",
            .path = "/conversations",
            .key = org.full_key,
            .body = format("{\"external_id\":\"e%d\",\"from\":{\"external_id\":\"c%d\","
                           "\"email\":\"one@x.org\"}}",
                           i, i)};
    api_send_together(requests, N, responses);
    for (int i = 0; i < N; i++) {
        made += responses[i]->status == 201;
        if (responses[i]->status != 201)
            expect_error(responses[i], 409, "customer_profile_conflict", "from.email");
    }
    cr_assert_eq(made, 1);
}

/* -- erasure ------------------------------------------------------------------------------------
 */

static struct client_response *erased(struct org *org, const char **contact)
{
    struct client_response *response;
    json_t *done;

    org_new(org);
    response = created(org, "1",
                       "\"external_id\":\"a\",\"name\":\"Ada\",\"email\":\"a@x.org\","
                       "\"phone\":\"+1\"");
    *contact = text_at(response, "contact.id");
    done = convctl("contact", "erase", "--org", org->id, *contact, NULL);
    cr_assert_str_eq(json_string_value(json_object_get(done, "id")), *contact);
    cr_assert(json_is_true(json_object_get(done, "erased")));
    json_decref(done);
    return response;
}

Test(contacts, an_erased_one_leaves_its_conversation_without_a_contact)
{
    struct org org;
    const char *contact;
    struct client_response *before = erased(&org, &contact);
    struct client_response *after = read_conversation(&org, text_at(before, "id"));

    expect_status(after, 200);
    expect_null(after, "contact");
    expect_json(after, "contacts", "{\"type\":\"contact.list\",\"contacts\":[]}");
    cr_assert_null(strstr(after->body, contact));
}

Test(contacts, a_create_for_a_conversation_of_an_erased_one_is_refused_without_its_data)
{
    struct org org;
    const char *contact;
    struct client_response *before = erased(&org, &contact);
    static const char *const attempts[] = {"\"external_id\":\"a\"", "\"external_id\":\"other\"",
                                           "\"external_id\":\"a\",\"email\":\"a@x.org\""};

    for (size_t i = 0; i < 3; i++) {
        struct client_response *response = create(&org, "1", attempts[i]);

        expect_error(response, 409, "customer_unavailable", "*");
        expect_recorded(&org, response, "conversation.create");
        cr_assert_null(strstr(response->body, "Ada"));
        cr_assert_null(strstr(response->body, "a@x.org"));
        cr_assert_null(strstr(response->body, text_at(before, "id")));
    }
}

Test(contacts, values_of_an_erased_contact_are_free_for_a_new_one)
{
    struct org org;
    const char *contact;
    struct client_response *response;

    erased(&org, &contact);
    response = created(&org, "2", "\"external_id\":\"a\",\"email\":\"a@x.org\",\"phone\":\"+1\"");
    cr_assert_str_neq(text_at(response, "contact.id"), contact);
    expect_null(response, "contact.name");
}

Test(contacts, the_id_of_an_erased_one_is_not_found)
{
    struct org org;
    const char *contact;

    erased(&org, &contact);
    expect_error(create(&org, "2", format("\"id\":\"%s\"", contact)), 404, "not_found", "*");
}

Test(contacts, erasing_takes_the_personal_data_off_the_record)
{
    struct org org;
    const char *contact;

    erased(&org, &contact);
    cr_assert_eq(sql_integer("SELECT num_nonnulls(external_id, name, email, phone)"
                             " FROM conversation.contacts WHERE id = $1::uuid",
                             contact, NULL),
                 0);
}

Test(contacts, several_conflicts_are_reported_in_order)
{
    struct org org;
    const char *contact;

    erased(&org, &contact);
    created(&org, "2", "\"external_id\":\"b\",\"email\":\"b@x.org\"");
    created(&org, "3", "\"external_id\":\"c\"");
    /* erased before profile */
    expect_error(create(&org, "1", "\"external_id\":\"c\",\"email\":\"b@x.org\""), 409,
                 "customer_unavailable", "*");
    /* external id before profile */
    expect_error(create(&org, "2", "\"external_id\":\"c\",\"email\":\"b@x.org\""), 409,
                 "external_id_conflict", "external_id");
}

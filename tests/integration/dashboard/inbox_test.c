/* The commands of the dashboard's inbox to the conversation service, on the running stack. */
#include <criterion/criterion.h>

#include "proto/subject.h"
#include "tests/support/service_client.h"
#include "tests/support/sql.h"

TestSuite(inbox, .init = service_connection_open, .fini = service_connection_close);

static const json_t *inside(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

Test(inbox, shows_what_the_api_and_other_channels_made)
{
    const char *api, *body;
    json_t *opened, *page, *view;
    const json_t *shown;
    struct org org;

    org_new(&org);
    api = new_conversation(&org, "c-1", "k-1");
    opened = convctl("conversation", "open", "--org", org.id, "--channel", "email",
                     "--contact-email", "Bo@example.com", NULL);
    json_decref(convctl("conversation", "append", "--org", org.id, text_of(opened, "id"), "--body",
                        "hello", NULL));
    page = service_client_get_as(service_connection, &some_user, SUBJECT_INBOX_LIST, org.id, "");
    cr_assert_eq(json_array_size(inside(page, "conversations")), 2);
    shown = json_array_get(inside(page, "conversations"), 1);
    cr_expect_str_eq(text_of(shown, "id"), api);
    cr_expect(json_equal(shown, read_conversation(&org, api)->json), "as the API shows it");

    page = service_client_get_as(service_connection, &some_user, SUBJECT_INBOX_LIST, org.id,
                                 "{\"contact\":\"bo@EXAMPLE.com\"}");
    cr_assert_eq(json_array_size(inside(page, "conversations")), 1);
    body = format("{\"id\":\"%s\"}", text_of(opened, "id"));
    view = service_client_get_as(service_connection, &some_user, SUBJECT_INBOX_VIEW, org.id, body);
    cr_expect(
        json_equal(inside(view, "conversation"), json_array_get(inside(page, "conversations"), 0)));
    cr_expect_str_eq(text_of(json_array_get(inside(view, "messages"), 0), "body"), "hello");
    cr_expect(json_is_false(inside(view, "erased")));
    json_decref(opened);
}

Test(inbox, takes_over_erases_and_deletes)
{
    const char *conversation, *contact, *body;
    struct org org;
    json_t *view;

    org_new(&org);
    conversation = new_conversation(&org, "c-1", "k-1");
    contact = text_at(read_conversation(&org, conversation), "contact.id");
    body = format("{\"id\":\"%s\"}", conversation);

    cr_expect_eq(service_client_call_as(
                     service_connection, &some_user, SUBJECT_CONVERSATION_SET_STATUS, org.id,
                     format("{\"id\":\"%s\",\"status\":\"human_takeover\"}", conversation))
                     .outcome,
                 OUTCOME_OK);
    cr_expect_eq(sql_integer("SELECT count(*) FROM webhook.events WHERE organization_id = $1::uuid"
                             " AND type = 'ai.handoff' AND data->>'id' = $2",
                             org.id, conversation, NULL),
                 1);
    cr_expect_eq(service_client_call_as(service_connection, &some_user, SUBJECT_CONTACT_ERASE,
                                        org.id, format("{\"id\":\"%s\"}", contact))
                     .outcome,
                 OUTCOME_OK);
    view = service_client_get_as(service_connection, &some_user, SUBJECT_INBOX_VIEW, org.id, body);
    cr_expect(json_is_true(inside(view, "erased")));
    cr_expect(json_is_null(inside(inside(view, "conversation"), "contact")));
    cr_expect_eq(service_client_call_as(service_connection, &some_user, SUBJECT_CONVERSATION_DELETE,
                                        org.id, body)
                     .outcome,
                 OUTCOME_OK);
    cr_expect_eq(
        service_client_call_as(service_connection, &some_user, SUBJECT_INBOX_VIEW, org.id, body)
            .outcome,
        OUTCOME_NOT_FOUND);
    cr_expect_eq(
        sql_integer("SELECT count(*) FROM audit.changes WHERE organization_id = $1::uuid"
                    " AND who = 'ada@example.com' AND change IN ('conversation.set-status',"
                    " 'contact.erase', 'conversation.delete')",
                    org.id, NULL),
        3);
}

Test(inbox, shows_nothing_of_another_organization)
{
    struct org org, other;
    const char *conversation;
    json_t *page;

    org_new(&org);
    org_new(&other);
    conversation = new_conversation(&org, "c-1", "k-1");
    cr_expect_eq(service_client_call_as(service_connection, &some_user, SUBJECT_INBOX_VIEW,
                                        other.id, format("{\"id\":\"%s\"}", conversation))
                     .outcome,
                 OUTCOME_NOT_FOUND);
    page = service_client_get_as(service_connection, &some_user, SUBJECT_INBOX_LIST, other.id,
                                 "{\"contact\":\"k-1\"}");
    cr_expect_eq(json_array_size(inside(page, "conversations")), 0);
}

/* Contract 2.1 and 3.1 for conversations that the API did not create: other channels write them
   through convctl, the API reads them. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/sql.h"

TestSuite(channels, .init = stack_share);

/* Opens a conversation and returns its id. */
static const char *opened(const struct org *org, const char *channel)
{
    json_t *conversation = convctl("conversation", "open", "--org", org->id, "--channel", channel,
                                   "--contact-external-id", "c", NULL);
    const char *id = format("%s", json_string_value(json_object_get(conversation, "id")));

    json_decref(conversation);
    return id;
}

static void set_status(const struct org *org, const char *id, const char *status)
{
    json_t *conversation =
        convctl("conversation", "set-status", "--org", org->id, id, status, NULL);

    cr_assert_str_eq(json_string_value(json_object_get(conversation, "status")), status);
    json_decref(conversation);
}

Test(channels, the_source_is_the_channel_and_the_external_id_null)
{
    static const char *const channels[] = {"widget", "email", "slack", "voice", "sms"};
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(channels); i++) {
        struct client_response *response = read_conversation(&org, opened(&org, channels[i]));

        expect_status(response, 200);
        expect_text(response, "channel", channels[i]);
        expect_members(at(response, "source"), "type");
        expect_text(response, "source.type", channels[i]);
        expect_null(response, "external_id");
        expect_text(response, "contact.external_id", "c");
    }
}

Test(channels, messages_are_counted_and_dated_and_never_shown)
{
    struct org org;
    struct client_response *response;
    const char *id;

    org_new(&org);
    id = opened(&org, "widget");
    for (int i = 1; i <= 3; i++) {
        json_decref(convctl("conversation", "append", "--org", org.id, id, "--body",
                            "a secret sentence", NULL));
        response = read_conversation(&org, id);
        expect_integer(response, "message_count", i);
        cr_assert_geq(integer_at(response, "last_message_at"), integer_at(response, "created_at"));
        cr_assert_null(strstr(response->body, "secret"));
    }
}

Test(channels, every_status_has_its_state)
{
    static const struct {
        const char *status, *state;
    } cases[] = {
        {"active", "open"},     {"waiting", "open"},    {"human_takeover", "open"},
        {"resolved", "closed"}, {"archived", "closed"},
    };
    struct org org;

    org_new(&org);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_t *made = convctl("conversation", "open", "--org", org.id, "--channel", "email",
                               "--status", cases[i].status, NULL);
        struct client_response *response =
            read_conversation(&org, json_string_value(json_object_get(made, "id")));

        expect_text(response, "status", cases[i].status);
        expect_text(response, "state", cases[i].state);
        expect_json(response, "open", cases[i].state[0] == 'o' ? "true" : "false");
        json_decref(made);
    }
}

Test(channels, a_legacy_closed_row_reads_as_resolved)
{
    struct org org;
    struct client_response *response;
    const char *id;

    org_new(&org);
    id = opened(&org, "widget");
    sql_text(
        "UPDATE conversation.conversations SET status = 'closed' WHERE id = $1::uuid RETURNING id",
        id, NULL);
    response = read_conversation(&org, id);
    expect_text(response, "status", "resolved");
    expect_text(response, "state", "closed");
    expect_json(response, "open", "false");
}

Test(channels, status_moves_along_the_allowed_transitions_only)
{
    static const char *const statuses[] = {"active", "waiting", "human_takeover", "resolved",
                                           "archived"};
    /* row: from, column: to; '-' skips setting the same status, which is not specified */
    static const char allowed[5][6] = {
        "-yyyn", "y-yyn", "yy-yn", "ynn-y", "nnny-",
    };
    struct org org;

    org_new(&org);
    for (int from = 0; from < 5; from++) {
        for (int to = 0; to < 5; to++) {
            json_t *made;
            const char *id;
            char code[64];

            if (allowed[from][to] == '-')
                continue;
            made = convctl("conversation", "open", "--org", org.id, "--channel", "email",
                           "--status", statuses[from], NULL);
            id = json_string_value(json_object_get(made, "id"));
            if (allowed[from][to] == 'y') {
                set_status(&org, id, statuses[to]);
                expect_text(read_conversation(&org, id), "status", statuses[to]);
            } else {
                cr_assert_eq(convctl_fails(code, "conversation", "set-status", "--org", org.id, id,
                                           statuses[to], NULL),
                             1, "%s to %s", statuses[from], statuses[to]);
                expect_text(read_conversation(&org, id), "status", statuses[from]);
            }
            json_decref(made);
        }
    }
}

Test(channels, a_takeover_leaves_its_event)
{
    struct org org;
    const char *id;

    org_new(&org);
    id = opened(&org, "widget");
    set_status(&org, id, "human_takeover");
    cr_assert_eq(
        sql_integer("SELECT count(*) FROM webhook.events WHERE organization_id = $1::uuid"
                    " AND type = 'ai.handoff' AND data->>'id' = $2"
                    " AND data->>'channel' = 'widget' AND data->>'status' = 'human_takeover'",
                    org.id, id, NULL),
        1);
}

Test(channels, a_deleted_conversation_is_gone)
{
    struct org org;
    const char *id;
    char code[64];
    json_t *done;

    org_new(&org);
    id = opened(&org, "widget");
    done = convctl("conversation", "delete", "--org", org.id, id, NULL);
    cr_assert_str_eq(json_string_value(json_object_get(done, "id")), id);
    cr_assert(json_is_true(json_object_get(done, "deleted")));
    json_decref(done);
    expect_error(read_conversation(&org, id), 404, "not_found", "*");
    cr_assert_eq(convctl_fails(code, "conversation", "append", "--org", org.id, id, NULL), 1);
    cr_assert_str_eq(code, "not_found");
}

Test(channels, operators_cannot_reach_into_another_organization)
{
    struct org org, other;
    const char *id;
    char code[64];

    org_new(&org);
    org_new(&other);
    id = opened(&org, "widget");
    cr_assert_eq(
        convctl_fails(code, "conversation", "set-status", "--org", other.id, id, "resolved", NULL),
        1);
    cr_assert_str_eq(code, "not_found");
    cr_assert_eq(convctl_fails(code, "conversation", "delete", "--org", other.id, id, NULL), 1);
    expect_status(read_conversation(&org, id), 200);
    expect_error(read_conversation(&other, id), 404, "not_found", "*");
}

Test(channels, a_contact_of_another_channel_can_be_named_by_its_id)
{
    struct org org;
    struct client_response *response;
    const char *contact;
    json_t *made;

    org_new(&org);
    made = convctl("conversation", "open", "--org", org.id, "--channel", "email", "--contact-email",
                   "Mail@x.org", NULL);
    contact = json_string_value(json_object_get(json_object_get(made, "contact"), "id"));
    cr_assert_not_null(contact);
    response =
        api_create(org.full_key, "{\"external_id\":\"e\",\"from\":{\"id\":\"%s\"}}", contact);
    expect_status(response, 201);
    expect_null(response, "contact.external_id");
    expect_text(response, "contact.email", "mail@x.org");
    expect_null(response, "contacts.contacts[0].external_id");
    json_decref(made);
}

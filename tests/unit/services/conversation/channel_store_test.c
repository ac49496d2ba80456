/* What other channels and operators do with conversations and contacts. */
#include "tests/unit/services/conversation/conversation_fixture.h"

TestSuite(channel_store, .init = start, .fini = stop);

Test(channel_store, opens_conversations_of_other_channels)
{
    struct command *const by_id =
        run_on(&conversation_open, "{\"channel\":\"widget\",\"contact_external_id\":\"u1\"}");
    struct command *const by_email =
        run_on(&conversation_open,
               "{\"channel\":\"email\",\"contact_email\":\"A@x\",\"status\":\"waiting\"}");
    struct command *const again =
        run_on(&conversation_open, "{\"channel\":\"slack\",\"contact_email\":\"a@x\"}");
    struct command *const nobody = run_on(&conversation_open, "{\"channel\":\"voice\"}");

    assert_outcome(by_id, OUTCOME_OK, NULL);
    assert_reply_has(by_id, "\"external_id\":null");
    assert_reply_has(by_id, "\"contact\":{\"type\":\"contact\"");
    assert_reply_has(by_email, "\"email\":\"a@x\"");
    assert_reply_has(by_email, "\"status\":\"waiting\"");
    cr_assert(uuid_equal(&by_email->contact_id, &again->contact_id));
    assert_reply_has(nobody, "\"contact\":null");
    cr_assert_str_eq(reply_of(read_back(by_email)), reply_of(by_email));
    cr_assert_str_eq(reply_of(read_back(nobody)), reply_of(nobody));

    assert_outcome(
        run_on(&conversation_open,
               "{\"channel\":\"chat\",\"contact_external_id\":\"u1\",\"contact_email\":\"a@x\"}"),
        OUTCOME_PROFILE_CONFLICT, "contact_email");
    assert_outcome(run_on(&conversation_open, "{\"channel\":\"api\"}"), OUTCOME_PARAMETER_INVALID,
                   "channel");
    assert_outcome(run_on(&conversation_open, "{\"channel\":\"email\",\"status\":\"closed\"}"),
                   OUTCOME_PARAMETER_INVALID, "status");
    /* only the widget's has an event */
    cr_assert_eq(count("SELECT count(*) FROM webhook.events"), 1);
    cr_assert_not_null(by_id->notice);
    cr_assert_null(by_email->notice);
}

Test(channel_store, appends_messages_and_counts_them)
{
    struct command *const made = run_on(&conversation_open, "{\"channel\":\"widget\"}");
    struct command *appended;

    run_with_id(&conversation_append, &made->conversation_id, "");
    appended = run_with_id(&conversation_append, &made->conversation_id, ",\"body\":\"hello\"");
    assert_reply_has(appended, "\"message_count\":2");
    cr_assert_null(strstr(reply_of(appended), "\"last_message_at\":null"));
    cr_assert_eq(count("SELECT count(*) FROM conversation.messages WHERE body IN ('', 'hello')"),
                 2);
}

Test(channel_store, moves_the_status_by_the_rules_and_announces_a_takeover_once)
{
    struct command *const made = run_on(&conversation_open, "{\"channel\":\"email\"}");
    const struct uuid *const id = &made->conversation_id;

    assert_reply_has(run_with_id(&conversation_set_status, id, ",\"status\":\"human_takeover\""),
                     "\"status\":\"human_takeover\"");
    assert_outcome(run_with_id(&conversation_set_status, id, ",\"status\":\"human_takeover\""),
                   OUTCOME_OK, NULL);
    assert_outcome(run_with_id(&conversation_set_status, id, ",\"status\":\"archived\""),
                   OUTCOME_CONFLICT, "status");
    cr_assert_eq(count("SELECT count(*) FROM webhook.events WHERE type = 'ai.handoff' "
                       "AND data ->> 'status' = 'human_takeover' AND data ->> 'channel' = 'email'"),
                 1);

    postgres_do(server.url, "UPDATE conversation.conversations SET status = 'closed'");
    assert_reply_has(read_back(made),
                     "\"state\":\"closed\",\"open\":false,\"status\":\"resolved\"");
    assert_outcome(run_with_id(&conversation_set_status, id, ",\"status\":\"waiting\""),
                   OUTCOME_CONFLICT, "status");
    assert_outcome(run_with_id(&conversation_set_status, id, ",\"status\":\"archived\""),
                   OUTCOME_OK, NULL);
}

Test(channel_store, keeps_the_external_id_of_a_deleted_conversation)
{
    struct command *const made = run_create("{\"external_id\":\"e1\",\"from\":{\"external_id\":"
                                            "\"u1\"},\"custom_attributes\":{\"a\":1}}");

    run_with_id(&conversation_append, &made->conversation_id, "");
    assert_reply_has(run_with_id(&conversation_delete, &made->conversation_id, ""),
                     "\"deleted\":true");
    assert_outcome(read_back(made), OUTCOME_NOT_FOUND, NULL);
    assert_outcome(run_with_id(&conversation_delete, &made->conversation_id, ""), OUTCOME_NOT_FOUND,
                   NULL);
    assert_outcome(run_with_id(&conversation_append, &made->conversation_id, ""), OUTCOME_NOT_FOUND,
                   NULL);
    assert_outcome(run_update(made, "{\"custom_attributes\":{}}"), OUTCOME_NOT_FOUND, NULL);
    assert_outcome(run_create(CREATE("e1", USER("u1"))), OUTCOME_EXTERNAL_ID_CONFLICT,
                   "external_id");
    cr_assert_eq(count("SELECT count(*) FROM conversation.messages"), 0);
    cr_assert_eq(count("SELECT count(*) FROM conversation.conversations"
                       " WHERE custom_attributes <> '{}'"),
                 0);
}

Test(channel_store, erases_a_contact_and_frees_its_unique_values)
{
    struct command *const made =
        run_create(CREATE("e1", USER("u1") ",\"email\":\"a@x\",\"phone\":\"1\""));
    const char *const by_id =
        arena_printf(&arena, CREATE("e2", "\"id\":\"%s\""), text_of(&made->contact_id));
    struct command *fresh;

    assert_reply_has(run_with_id(&conversation_erase_contact, &made->contact_id, ""),
                     "\"erased\":true");
    assert_outcome(run_with_id(&conversation_erase_contact, &made->contact_id, ""), OUTCOME_OK,
                   NULL);
    assert_reply_has(read_back(made), "\"contact\":null,\"contacts\":{\"type\":\"contact.list\","
                                      "\"contacts\":[]}");
    assert_outcome(run_create(CREATE("e1", USER("u1"))), OUTCOME_CUSTOMER_UNAVAILABLE, NULL);
    assert_outcome(run_create(by_id), OUTCOME_NOT_FOUND, "from.id");
    fresh = run_create(CREATE("e3", USER("u1") ",\"email\":\"a@x\",\"phone\":\"1\""));
    assert_outcome(fresh, OUTCOME_CREATED, NULL);
    cr_assert_not(uuid_equal(&fresh->contact_id, &made->contact_id));
    assert_outcome(run_with_id(&conversation_erase_contact, &(struct uuid){{1}}, ""),
                   OUTCOME_NOT_FOUND, NULL);
}

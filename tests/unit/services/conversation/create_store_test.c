/* Creating conversations: what the statement writes and finds. */
#include "tests/unit/services/conversation/conversation_fixture.h"

TestSuite(create_store, .init = start, .fini = stop);

Test(create_store, creates_a_conversation_its_contact_and_its_event_once)
{
    struct command *const made = run_create(
        "{\"external_id\":\"e1\",\"from\":{\"external_id\":\"u1\",\"name\":\"Ann\",\"email\":"
        "\"A@x.org\",\"phone\":\" 1 \"},\"custom_attributes\":{\"a\":1.50,\"gone\":null,"
        "\"big\":9007199254740993}}");
    struct command *again;

    assert_outcome(made, OUTCOME_CREATED, NULL);
    assert_reply_has(made, "\"external_id\":\"e1\"");
    assert_reply_has(made, "\"custom_attributes\":{\"a\":1.50,\"big\":9007199254740993}");
    assert_reply_has(made, "\"external_id\":\"u1\",\"name\":\"Ann\",\"email\":\"a@x.org\","
                           "\"phone\":\"1\"");
    cr_assert_str_eq(made->notice, "v1.notice.events");
    cr_assert_str_eq(reply_of(read_back(made)), reply_of(made));

    again = run_create(CREATE("e1", USER("u1") ",\"name\":\"Other\",\"email\":\"b@x.org\""));
    assert_outcome(again, OUTCOME_REPLAYED, NULL);
    cr_assert_str_eq(reply_of(again), reply_of(made));
    cr_assert_null(again->notice);
    cr_assert(uuid_equal(&again->contact_id, &made->contact_id));

    cr_assert_eq(count("SELECT count(*) FROM conversation.conversations"), 1);
    cr_assert_eq(count("SELECT count(*) FROM webhook.events e, conversation.conversations c "
                       "WHERE e.type = 'conversation.created' AND e.data = jsonb_build_object("
                       "'id', c.id, 'channel', 'api', 'status', 'active')"),
                 1);
}

/* The event would not become a delivery. */
Test(create_store, writes_no_event_without_an_endpoint_for_it)
{
    struct command *made =
        run((struct call){&conversation_create, OTHER, NULL, CREATE("e1", USER("u1"))});

    assert_outcome(made, OUTCOME_CREATED, NULL);
    cr_assert_null(made->notice);
    postgres_do(server.url, "UPDATE webhook.endpoints SET events = '{ai.handoff}'");
    made = run_create(CREATE("e1", USER("u1")));
    assert_outcome(made, OUTCOME_CREATED, NULL);
    cr_assert_null(made->notice);
    cr_assert_eq(count("SELECT count(*) FROM webhook.events"), 0);
}

/* Whatever other events the endpoints are for. */
Test(create_store, writes_an_event_for_which_one_endpoint_of_several_is)
{
    static const char *const events[] = {
        "{conversation.created}",
        "{conversation.created,ticket.created}",
        "{ticket.created,ticket.resolved,conversation.created,ai.handoff}",
    };
    struct command *made;

    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        postgres_do(server.url,
                    arena_printf(&arena, "UPDATE webhook.endpoints SET events = '%s'", events[i]));
        made = run_create(arena_printf(&arena, CREATE("e%zu", USER("u1")), i));
        cr_expect_str_eq(made->notice, "v1.notice.events", "%s", events[i]);
    }
    postgres_do(server.url,
                "UPDATE webhook.endpoints SET events = '{ticket.created}';" ENDPOINT ";" ENDPOINT);
    cr_expect_str_eq(run_create(CREATE("e", USER("u1")))->notice, "v1.notice.events");
    cr_expect_eq(count("SELECT count(*) FROM webhook.events"), ARRAY_SIZE(events) + 1);
}

Test(create_store, sees_within_one_batch_what_came_before)
{
    struct command *first, *second, *third;

    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
    first =
        begin(db, &arena, (struct call){&conversation_create, ORG, NULL, CREATE("e1", USER("u1"))});
    second =
        begin(db, &arena, (struct call){&conversation_create, ORG, NULL, CREATE("e1", USER("u1"))});
    third =
        begin(db, &arena, (struct call){&conversation_create, ORG, NULL, CREATE("e1", USER("u2"))});
    cr_assert_eq(db_run(db), ST_OK);
    cr_assert_eq(conversation_create.reply(first, db, NULL), ST_OK);
    cr_assert_eq(conversation_create.reply(second, db, NULL), ST_OK);
    cr_assert_eq(conversation_create.reply(third, db, NULL), ST_REFUSED);
    cr_assert_eq(db_commit(db), ST_OK);

    assert_outcome(first, OUTCOME_CREATED, NULL);
    assert_outcome(second, OUTCOME_REPLAYED, NULL);
    assert_outcome(third, OUTCOME_EXTERNAL_ID_CONFLICT, "external_id");
    cr_assert_str_eq(reply_of(first), reply_of(second));
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts"), 1);
}

Test(create_store, applies_the_profile_of_a_new_conversation_and_keeps_what_is_absent)
{
    struct command *const first =
        run_create(CREATE("e1", USER("u1") ",\"name\":\"Ann\",\"email\":\"a@x\""));
    struct command *const second =
        run_create(CREATE("e2", USER("u1") ",\"email\":\"b@x\",\"phone\":\"1\""));
    const char *const by_id = arena_printf(&arena, CREATE("e4", "\"id\":\"%s\",\"name\":\"Bea\""),
                                           text_of(&first->contact_id));

    assert_outcome(second, OUTCOME_CREATED, NULL);
    assert_reply_has(second, "\"name\":\"Ann\",\"email\":\"b@x\",\"phone\":\"1\"");
    assert_reply_has(read_back(first), "\"name\":\"Ann\",\"email\":\"b@x\",\"phone\":\"1\"");
    /* the old email is free again */
    assert_outcome(run_create(CREATE("e3", USER("u3") ",\"email\":\"a@x\"")), OUTCOME_CREATED,
                   NULL);
    assert_reply_has(run_create(by_id),
                     "\"external_id\":\"u1\",\"name\":\"Bea\",\"email\":\"b@x\"");
}

Test(create_store, refuses_a_profile_that_belongs_to_another_contact_and_writes_nothing)
{
    struct command *const owner =
        run_create(CREATE("e1", USER("u1") ",\"email\":\"a@x\",\"phone\":\"1\""));
    struct command *refused;

    refused = run_create(CREATE("e2", USER("u2") ",\"email\":\"A@X\",\"phone\":\"1\""));
    assert_outcome(refused, OUTCOME_PROFILE_CONFLICT, "from.email");
    cr_assert_eq(refused->errors.n, 2);
    cr_assert_str_eq(refused->errors.at[1].field, "from.phone");
    cr_assert_not_null(strstr(refused->errors.at[0].message, text_of(&owner->contact_id)));

    run_create(CREATE("e3", USER("u3")));
    assert_outcome(run_create(CREATE("e4", USER("u3") ",\"name\":\"C\",\"phone\":\"1\"")),
                   OUTCOME_PROFILE_CONFLICT, "from.phone");
    cr_assert_eq(count("SELECT count(*) FROM conversation.conversations"), 2);
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts WHERE name IS NULL"), 2);
}

Test(create_store, refuses_unknown_contacts_before_conflicts)
{
    run_create(CREATE("e1", USER("u1")));
    assert_outcome(run_create(CREATE("e1", "\"id\":\"" NOBODY "\"")), OUTCOME_NOT_FOUND, "from.id");
    assert_outcome(run_create(CREATE("e2", "\"id\":\"" NOBODY "\"")), OUTCOME_NOT_FOUND, "from.id");
    assert_outcome(run_create(CREATE("e2", "\"id\":\"01920000-0000-7000-8000-00000000FFFF\"")),
                   OUTCOME_NOT_FOUND, "from.id");
    assert_outcome(run_create(CREATE("e1", USER("u2"))), OUTCOME_EXTERNAL_ID_CONFLICT,
                   "external_id");
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts"), 1);
}

Test(create_store, keeps_organizations_apart)
{
    struct command *const ours = run_create(CREATE("e1", USER("u1") ",\"email\":\"a@x\""));
    struct command *const theirs = run((struct call){
        &conversation_create, OTHER, NULL, CREATE("e1", USER("u1") ",\"email\":\"a@x\"")});
    const char *const by_id =
        arena_printf(&arena, CREATE("e2", "\"id\":\"%s\""), text_of(&ours->contact_id));

    assert_outcome(theirs, OUTCOME_CREATED, NULL);
    cr_assert_not(uuid_equal(&ours->contact_id, &theirs->contact_id));
    assert_outcome(run((struct call){&conversation_create, OTHER, NULL, by_id}), OUTCOME_NOT_FOUND,
                   "from.id");
    assert_outcome(
        run((struct call){&conversation_get, OTHER, text_of(&ours->conversation_id), NULL}),
        OUTCOME_NOT_FOUND, NULL);
    assert_outcome(run((struct call){&conversation_update, OTHER, text_of(&ours->conversation_id),
                                     "{\"custom_attributes\":{}}"}),
                   OUTCOME_NOT_FOUND, NULL);
}

Test(create_store, gives_every_request_of_a_batch_its_own_reply)
{
    struct command *const known = run_create(CREATE("e0", USER("u0") ",\"email\":\"a@x\""));
    const char *const by_id =
        arena_printf(&arena, CREATE("e7", "\"id\":\"%s\""), text_of(&known->contact_id));
    const struct {
        const char *body;
        enum outcome outcome;
    } requests[] = {
        {CREATE("e0", USER("u0")), OUTCOME_REPLAYED},
        {CREATE("e0", USER("u1")), OUTCOME_EXTERNAL_ID_CONFLICT},
        {CREATE("e1", USER("u1") ",\"name\":\"Ann\""), OUTCOME_CREATED},
        {CREATE("e2", USER("u1") ",\"name\":\"Ann\""), OUTCOME_CREATED},
        {CREATE("e1", USER("u1")), OUTCOME_REPLAYED},
        {CREATE("e3", USER("u2") ",\"email\":\"a@x\""), OUTCOME_PROFILE_CONFLICT},
        {CREATE("e4", USER("u2") ",\"email\":\"b@x\""), OUTCOME_CREATED},
        {CREATE("e5", USER("u3") ",\"email\":\"b@x\""), OUTCOME_PROFILE_CONFLICT},
        {CREATE("{\\\"e6\\\",\\\\}", USER("NULL") ",\"name\":\"\\\\\\\"\""), OUTCOME_CREATED},
        {by_id, OUTCOME_CREATED},
        {CREATE("e8", "\"id\":\"" NOBODY "\""), OUTCOME_NOT_FOUND},
    };
    enum { N = ARRAY_SIZE(requests) };
    struct command *commands[N];

    for (size_t i = 0; i < N; i++) {
        commands[i] =
            parse(&arena, (struct call){&conversation_create, ORG, NULL, requests[i].body});
        cr_assert_not_null(commands[i]->state);
    }
    run_batch(commands, N);
    for (size_t i = 0; i < N; i++) {
        cr_expect_eq(commands[i]->outcome, requests[i].outcome, "%s: %s", requests[i].body,
                     outcome_name(commands[i]->outcome));
        if (commands[i]->outcome == OUTCOME_CREATED)
            cr_expect_str_eq(reply_of(read_back(commands[i])), reply_of(commands[i]));
    }
    cr_assert(uuid_equal(&commands[2]->contact_id, &commands[3]->contact_id));
    assert_reply_has(commands[8], "\"external_id\":\"{\\\"e6\\\",\\\\}\"");
    assert_reply_has(commands[8], "\"external_id\":\"NULL\",\"name\":\"\\\\\\\"\"");
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts"), 4);
    cr_assert_eq(count("SELECT count(*) FROM webhook.events"), 6);
}

Test(create_store, creates_a_full_batch_for_one_new_contact)
{
    enum { N = 128 };
    struct command *commands[N];

    for (int i = 0; i < N; i++) {
        const char *const body =
            arena_printf(&arena, CREATE("e%d", USER("u") ",\"email\":\"a@x\""), i);

        commands[i] = parse(&arena, (struct call){&conversation_create, ORG, NULL, body});
    }
    run_batch(commands, N);
    for (int i = 0; i < N; i++)
        assert_outcome(commands[i], OUTCOME_CREATED, NULL);
    cr_assert_eq(count("SELECT count(*) FROM conversation.contacts"), 1);
    cr_assert_eq(count("SELECT count(*) FROM conversation.conversations c "
                       "JOIN conversation.contacts k ON k.id = c.contact_id"),
                 N);
}

/* Reading conversations and changing their attributes. */
#include "tests/unit/services/conversation/conversation_fixture.h"

TestSuite(update_store, .init = start, .fini = stop);

Test(update_store, finds_nothing_under_ids_that_are_not_canonical)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    char upper[UUID_TEXT + 1];

    for (size_t i = 0; i <= UUID_TEXT; i++) {
        const char c = text_of(&made->conversation_id)[i];

        upper[i] = c >= 'a' && c <= 'f' ? (char)(c - 'a' + 'A') : c;
    }
    assert_outcome(run((struct call){&conversation_get, ORG, upper, NULL}), OUTCOME_NOT_FOUND,
                   NULL);
    assert_outcome(run((struct call){&conversation_get, ORG, "e1", NULL}), OUTCOME_NOT_FOUND, NULL);
    assert_outcome(run((struct call){&conversation_get, ORG, NOBODY, NULL}), OUTCOME_NOT_FOUND,
                   NULL);
}

Test(update_store, gives_every_read_of_a_batch_its_own_conversation)
{
    struct command *const first = run_create(CREATE("e1", USER("u1") ",\"name\":\"Ann\""));
    struct command *const second = run_create(CREATE("e2", USER("u2")));
    struct command *const foreign =
        run((struct call){&conversation_create, OTHER, NULL, CREATE("e1", USER("u1"))});
    const struct {
        const char *organization;
        const struct uuid *id;
        const struct command *shown; /* NULL: not found */
    } reads[] = {
        {ORG, &second->conversation_id, second}, {ORG, &foreign->conversation_id, NULL},
        {ORG, &first->conversation_id, first},   {OTHER, &foreign->conversation_id, foreign},
        {OTHER, &first->conversation_id, NULL},  {ORG, &second->conversation_id, second},
        {ORG, &first->contact_id, NULL},
    };
    enum { N = ARRAY_SIZE(reads) };
    struct command *commands[N];

    for (size_t i = 0; i < N; i++)
        commands[i] = parse(&arena, (struct call){&conversation_get, reads[i].organization,
                                                  text_of(reads[i].id), NULL});
    run_batch(commands, N);
    for (size_t i = 0; i < N; i++) {
        assert_outcome(commands[i], reads[i].shown ? OUTCOME_OK : OUTCOME_NOT_FOUND, NULL);
        if (reads[i].shown)
            cr_expect_str_eq(reply_of(commands[i]), reply_of(reads[i].shown));
    }
}

Test(update_store, merges_attributes_and_removes_nulls)
{
    struct command *const made = run_create(
        "{\"external_id\":\"e1\",\"from\":{\"external_id\":\"u1\"},\"custom_attributes\":"
        "{\"a\":1,\"b\":\"x\",\"c\":true}}");
    struct command *const changed =
        run_update(made, "{\"custom_attributes\":{\"a\":2.0,\"b\":null,\"none\":null,\"d\":0}}");

    assert_outcome(changed, OUTCOME_OK, NULL);
    assert_reply_has(changed, "\"custom_attributes\":{\"a\":2.0,\"c\":true,\"d\":0}");
    cr_assert_str_eq(reply_of(read_back(made)), reply_of(changed));
    cr_assert_eq(count("SELECT count(*) FROM conversation.conversations "
                       "WHERE updated_at > created_at"),
                 1);
}

Test(update_store, moves_updated_at_with_every_update_even_when_the_clock_does_not)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));

    postgres_do(server.url,
                "UPDATE conversation.conversations SET updated_at = '2100-01-01 00:00:00Z'");
    assert_outcome(run_update(made, "{\"custom_attributes\":{}}"), OUTCOME_OK, NULL);
    cr_assert_eq(count("SELECT count(*) FROM conversation.conversations "
                       "WHERE updated_at = '2100-01-01 00:00:00.000001Z'"),
                 1);
}

Test(update_store, refuses_the_21st_attribute_and_changes_nothing)
{
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    struct buf body;

    buf_init(&body, &arena, 1024);
    buf_add(&body, STR("{\"custom_attributes\":{"));
    for (int i = 0; i < 20; i++)
        buf_printf(&body, "%s\"k%d\":%d", i == 0 ? "" : ",", i, i);
    buf_add(&body, STR("}}"));
    assert_outcome(run_update(made, arena_cstr(&arena, buf_str(&body))), OUTCOME_OK, NULL);

    assert_outcome(run_update(made, "{\"custom_attributes\":{\"new\":1}}"),
                   OUTCOME_PARAMETER_INVALID, "custom_attributes");
    assert_outcome(run_update(made, "{\"custom_attributes\":{\"new\":1,\"k0\":null}}"), OUTCOME_OK,
                   NULL);
    assert_outcome(
        run((struct call){&conversation_update, ORG, NOBODY, "{\"custom_attributes\":{\"a\":1}}"}),
        OUTCOME_NOT_FOUND, NULL);
}

/* Each update runs in a separate statement and takes only as much memory as its own body. */
Test(update_store, holds_each_body_once_however_many_are_for_one_conversation)
{
    enum { N = 100, BODY = 65536 };
    struct command *const made = run_create(CREATE("e1", USER("u1")));
    const char *const id = text_of(&made->conversation_id);
    struct command *commands[N];
    size_t used;

    for (int i = 0; i < N; i++)
        commands[i] =
            parse(&arena, (struct call){&conversation_update, ORG, id,
                                        arena_printf(&arena, "{\"custom_attributes\":{\"a\":%d}%*s",
                                                     i, BODY, "}")});
    used = arena.used;
    run_batch(commands, N);
    cr_expect_lt(arena.used - used, 2 * (size_t)N * BODY, "%zu bytes", arena.used - used);
    assert_reply_has(read_back(made), "\"custom_attributes\":{\"a\":99}");
}

/* The updates of a batch share one statement, except those of the same conversation. */
Test(update_store, answers_each_update_of_a_batch_with_its_own_result_in_their_order)
{
    struct command *const first = run_create(CREATE("e1", USER("u1") ",\"name\":\"Ann\""));
    struct command *const second = run_create(CREATE("e2", USER("u2")));
    struct command *const foreign =
        run((struct call){&conversation_create, OTHER, NULL, CREATE("e1", USER("u1"))});
    struct buf full;
    const struct {
        const char *organization;
        const struct uuid *id;
        const char *attributes, *shown; /* shown NULL: not found; "": too many */
    } updates[] = {
        {ORG, &first->conversation_id, "\"a\":1", "{\"a\":1}"},
        {ORG, &second->conversation_id, "\"a\":\"x\\\"y\"", "{\"a\":\"x\\\"y\"}"},
        {ORG, &foreign->conversation_id, "\"a\":3", NULL},
        {ORG, &first->conversation_id, "\"b\":2", "{\"a\":1,\"b\":2}"},
        {OTHER, &foreign->conversation_id, "\"a\":4", "{\"a\":4}"},
        {ORG, &first->conversation_id, NULL, ""}, /* twenty others */
        {OTHER, &first->conversation_id, "\"a\":5", NULL},
        {ORG, &first->conversation_id, "\"a\":null,\"b\":1.50", "{\"b\":1.50}"},
        {ORG, &second->conversation_id, "\"b\":true", "{\"a\":\"x\\\"y\",\"b\":true}"},
    };
    enum { N = ARRAY_SIZE(updates) };
    struct command *commands[N];

    buf_init(&full, &arena, 1024);
    for (int i = 0; i < 20; i++)
        buf_printf(&full, "%s\"k%d\":%d", i == 0 ? "" : ",", i, i);
    for (size_t i = 0; i < N; i++) {
        const char *const attributes = updates[i].attributes != NULL
                                           ? updates[i].attributes
                                           : arena_cstr(&arena, buf_str(&full));

        commands[i] = parse(
            &arena,
            (struct call){&conversation_update, updates[i].organization, text_of(updates[i].id),
                          arena_printf(&arena, "{\"custom_attributes\":{%s}}", attributes)});
    }
    run_batch(commands, N);
    for (size_t i = 0; i < N; i++) {
        const char *const shown = updates[i].shown;

        if (shown == NULL)
            assert_outcome(commands[i], OUTCOME_NOT_FOUND, NULL);
        else if (shown[0] == '\0')
            assert_outcome(commands[i], OUTCOME_PARAMETER_INVALID, "custom_attributes");
        else
            assert_reply_has(commands[i], arena_printf(&arena, "\"custom_attributes\":%s", shown));
    }
    assert_reply_has(commands[0], "\"name\":\"Ann\"");
    cr_expect_str_eq(reply_of(read_back(first)), reply_of(commands[7]));
    cr_expect_str_eq(reply_of(read_back(second)), reply_of(commands[8]));
}

/* What the dashboard shows of an organization's conversations. */
#include <jansson.h>

#include "tests/unit/services/conversation/conversation_fixture.h"

TestSuite(inbox_store, .init = start, .fini = stop);

static json_t *reply_json(const struct command *command)
{
    json_t *value = json_loads(reply_of(command), 0, NULL);

    cr_assert_not_null(value, "%s", reply_of(command));
    return value;
}

static const char *member(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static const char *next_of(const json_t *page)
{
    return member(json_object_get(json_object_get(page, "pages"), "next"), "starting_after");
}

/* The ids on all pages together, each with a blank after it; the number of pages in *pages. */
static const char *walk(const char *filters, int per_page, int *pages)
{
    const char *after = NULL;
    struct buf ids;

    buf_init(&ids, &arena, 256);
    for (*pages = 0; *pages == 0 || after != NULL; ++*pages) {
        const char *place =
            after != NULL ? arena_printf(&arena, ",\"starting_after\":\"%s\"", after) : "";
        json_t *page =
            reply_json(run_on(&conversation_inbox, arena_printf(&arena, "{\"per_page\":%d%s%s}",
                                                                per_page, filters, place)));
        const json_t *conversation;
        size_t i;

        cr_assert_lt(*pages, 1000);
        json_array_foreach(json_object_get(page, "conversations"), i, conversation)
            buf_printf(&ids, "%s ", member(conversation, "id"));
        after = next_of(page) != NULL ? arena_printf(&arena, "%s", next_of(page)) : NULL;
        json_decref(page);
    }
    return arena_cstr(&arena, buf_str(&ids));
}

static const char *all_of(const char *filters)
{
    int pages;

    return walk(filters, 100, &pages);
}

static const char *made(const char *body)
{
    return text_of(&run_on(&conversation_open, body)->conversation_id);
}

Test(inbox_store, shows_the_newest_first_page_by_page)
{
    const char *first = made("{\"channel\":\"email\"}"), *second = made("{\"channel\":\"voice\"}");
    const char *third = text_of(&run_create(CREATE("c1", USER("u1")))->conversation_id);
    const char *order = arena_printf(&arena, "%s %s %s ", third, second, first);
    int pages;

    cr_expect_str_eq(all_of(""), order);
    cr_expect_str_eq(walk("", 1, &pages), order);
    cr_expect_eq(pages, 3, "no more pages than there are");
    cr_expect_str_eq(walk("", 2, &pages), order);
    cr_expect_eq(pages, 2);
    cr_expect_str_eq(reply_of(run((struct call){&conversation_inbox, OTHER, NULL, "{}"})),
                     "{\"conversations\":[],\"pages\":{\"type\":\"pages\",\"per_page\":50}}");
}

Test(inbox_store, shows_each_as_the_api_does)
{
    struct command *const created = run_create(CREATE("c1", USER("u1") ",\"name\":\"A <b>\""));
    struct command *const read = read_back(created);
    const char *expected = arena_printf(
        &arena, "{\"conversations\":[%s],\"pages\":{\"type\":\"pages\",\"per_page\":50}}",
        reply_of(read));

    cr_expect_str_eq(reply_of(run_on(&conversation_inbox, NULL)), expected);
    cr_expect_str_eq(reply_of(run_with_id(&conversation_view, &created->conversation_id, "")),
                     arena_printf(&arena, "{\"conversation\":%s,\"messages\":[],\"erased\":false}",
                                  reply_of(read)));
}

Test(inbox_store, filters_by_channel_and_status)
{
    const char *email = made("{\"channel\":\"email\"}");
    const char *waiting = made("{\"channel\":\"voice\",\"status\":\"waiting\"}");
    const char *api = text_of(&run_create(CREATE("c1", USER("u1")))->conversation_id);
    const char *legacy = made("{\"channel\":\"voice\",\"status\":\"resolved\"}");
    const char *resolved = made("{\"channel\":\"email\",\"status\":\"resolved\"}");

    postgres_do(server.url, arena_printf(&arena,
                                         "UPDATE conversation.conversations SET status = 'closed'"
                                         " WHERE id = '%s'",
                                         legacy));
    cr_expect_str_eq(all_of(",\"channel\":\"email\""),
                     arena_printf(&arena, "%s %s ", resolved, email));
    cr_expect_str_eq(all_of(",\"channel\":\"api\""), arena_printf(&arena, "%s ", api));
    cr_expect_str_eq(all_of(",\"channel\":\"slack\""), "");
    cr_expect_str_eq(all_of(",\"status\":\"waiting\""), arena_printf(&arena, "%s ", waiting));
    cr_expect_str_eq(all_of(",\"status\":\"active\""), arena_printf(&arena, "%s %s ", api, email));
    cr_expect_str_eq(all_of(",\"status\":\"resolved\""),
                     arena_printf(&arena, "%s %s ", resolved, legacy));
    cr_expect_str_eq(all_of(",\"status\":\"active\",\"channel\":\"email\""),
                     arena_printf(&arena, "%s ", email));
    cr_expect_str_eq(all_of(",\"status\":\"resolved\",\"channel\":\"voice\""),
                     arena_printf(&arena, "%s ", legacy));
    cr_expect_str_eq(all_of(",\"status\":\"archived\""), "");
}

Test(inbox_store, finds_the_conversations_of_a_contact)
{
    struct command *const first =
        run_on(&conversation_open, "{\"channel\":\"email\",\"contact_external_id\":\"u1\","
                                   "\"contact_email\":\"\xc3\x84@x\"}");
    const char *second = made("{\"channel\":\"voice\",\"contact_external_id\":\"u1\"}");
    const char *both = arena_printf(&arena, "%s %s ", second, text_of(&first->conversation_id));
    const char *by_id = arena_printf(&arena, ",\"contact\":\"%s\"", text_of(&first->contact_id));
    int pages;

    made("{\"channel\":\"email\",\"contact_external_id\":\"u2\"}");
    cr_expect_str_eq(all_of(",\"contact\":\"u1\""), both);
    cr_expect_str_eq(all_of(",\"contact\":\"\xc3\xa4@X\""), both);
    cr_expect_str_eq(all_of(by_id), both);
    cr_expect_str_eq(walk(by_id, 1, &pages), both);
    cr_expect_eq(pages, 2);
    cr_expect_str_eq(all_of(",\"contact\":\"u1\",\"channel\":\"voice\""),
                     arena_printf(&arena, "%s ", second));
    cr_expect_str_eq(all_of(",\"contact\":\"U1\""), "", "identifiers are case-sensitive");
    cr_expect_str_eq(all_of(",\"contact\":\"nobody\""), "");

    run_on(&conversation_erase_contact,
           arena_printf(&arena, "{\"id\":\"%s\"}", text_of(&first->contact_id)));
    cr_expect_str_eq(all_of(by_id), "", "an erased contact is no longer found");
    cr_expect_null(strstr(reply_of(run_on(&conversation_inbox, "{\"channel\":\"voice\"}")), "u1"));
    assert_reply_has(run_on(&conversation_inbox, "{\"channel\":\"voice\"}"), "\"contact\":null");
    assert_reply_has(run_with_id(&conversation_view, &first->conversation_id, ""),
                     "\"erased\":true");
}

Test(inbox_store, does_not_show_deleted_conversations)
{
    struct command *const gone =
        run_on(&conversation_open, "{\"channel\":\"email\",\"status\":\"waiting\","
                                   "\"contact_external_id\":\"u1\"}");
    static const char *const ways[] = {"", ",\"channel\":\"email\"", ",\"status\":\"waiting\"",
                                       ",\"contact\":\"u1\""};

    run_with_id(&conversation_delete, &gone->conversation_id, "");
    for (size_t i = 0; i < 4; i++)
        cr_expect_str_eq(all_of(ways[i]), "", "%s", ways[i]);
    assert_outcome(run_with_id(&conversation_view, &gone->conversation_id, ""), OUTCOME_NOT_FOUND,
                   NULL);
}

Test(inbox_store, refuses_an_invalid_filter)
{
    assert_outcome(run_on(&conversation_inbox, "{\"per_page\":101}"), OUTCOME_PARAMETER_INVALID,
                   "per_page");
    assert_outcome(run_on(&conversation_inbox, "{\"status\":\"closed\"}"),
                   OUTCOME_PARAMETER_INVALID, "status");
    assert_outcome(run_on(&conversation_inbox, "{\"starting_after\":\"1\"}"),
                   OUTCOME_PARAMETER_INVALID, "starting_after");
    assert_outcome(run_on(&conversation_inbox, "{\"order\":\"asc\"}"), OUTCOME_PARAMETER_INVALID,
                   "order");
    assert_outcome(run((struct call){&conversation_view, OTHER, NULL, "{\"id\":\"" NOBODY "\"}"}),
                   OUTCOME_NOT_FOUND, NULL);
}

/* `n` conversations, every `nth` of them on the channel voice, the rest as given. */
static void fill(int n, int nth, const char *channel, const char *status)
{
    postgres_do(server.url,
                arena_printf(&arena,
                             "INSERT INTO conversation.conversations (organization_id, id, channel,"
                             " status, created_at, updated_at) SELECT '" ORG "', ('01920000-0000-"
                             "7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,"
                             " CASE WHEN n %% %d = 0 THEN 'voice' ELSE '%s' END, '%s', now(), now()"
                             " FROM generate_series(1, %d) AS n",
                             nth, channel, status, n));
}

static int words(const char *text)
{
    int n = 0;

    for (; *text != '\0'; text++)
        n += *text == ' ';
    return n;
}

Test(inbox_store, looks_at_a_bounded_number_for_a_page)
{
    int pages;

    fill(5000, 2500, "api", "resolved");
    cr_expect_eq(words(walk(",\"status\":\"resolved\",\"channel\":\"voice\"", 50, &pages)), 2);
    cr_expect_eq(pages, 3, "of 2,000, 2,000 and 1,000 that were looked at");
    cr_expect_eq(words(walk(",\"status\":\"active\"", 50, &pages)), 0);
    cr_expect_eq(pages, 3);
    cr_expect_eq(words(walk("", 100, &pages)), 5000);
    cr_expect_eq(pages, 50);
}

Test(inbox_store, costs_by_what_it_looks_at)
{
    const char *const rare = "{\"status\":\"resolved\",\"channel\":\"voice\"}";

    cr_expect_eq(run_on(&conversation_inbox, rare)->cost, 1);
    fill(1500, 1000, "api", "resolved");
    cr_expect_eq(run_on(&conversation_inbox, "{\"per_page\":14}")->cost, 2, "15 are looked at");
    cr_expect_eq(run_on(&conversation_inbox, rare)->cost, 101, "all, to find one");
}

Test(inbox_store, ends_a_page_that_grows_large)
{
    int pages;

    fill(40, 41, "email", "active");
    postgres_do(server.url, "UPDATE conversation.conversations SET custom_attributes ="
                            " jsonb_build_object('a', repeat('x', 60000))");
    cr_expect_eq(words(walk("", 50, &pages)), 40);
    cr_expect_eq(pages, 3);
}

/* -- messages ---------------------------------------------------------------------------------- */

Test(inbox_store, shows_the_newest_messages_in_their_order)
{
    struct command *const opened = run_on(&conversation_open, "{\"channel\":\"email\"}");
    json_t *seen, *messages;

    for (int i = 1; i <= 103; i++)
        run_with_id(&conversation_append, &opened->conversation_id,
                    arena_printf(&arena, ",\"body\":\"%d \\\"<\\\"\"", i));
    seen = reply_json(run_with_id(&conversation_view, &opened->conversation_id, ""));
    messages = json_object_get(seen, "messages");
    cr_assert_eq(json_array_size(messages), 100);
    cr_expect_str_eq(member(json_array_get(messages, 0), "body"), "4 \"<\"");
    cr_expect_str_eq(member(json_array_get(messages, 99), "body"), "103 \"<\"");
    cr_expect(json_is_integer(json_object_get(json_array_get(messages, 0), "created_at")));
    json_decref(seen);
}

Test(inbox_store, shows_no_more_messages_than_fit)
{
    struct command *const opened = run_on(&conversation_open, "{\"channel\":\"email\"}");
    json_t *seen;

    postgres_do(server.url,
                arena_printf(&arena,
                             "INSERT INTO conversation.messages SELECT '" ORG "', '%s', ('01920000-"
                             "0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,"
                             " repeat(chr(128512), 20000), now() FROM generate_series(1, 30) AS n",
                             text_of(&opened->conversation_id)));
    seen = reply_json(run_with_id(&conversation_view, &opened->conversation_id, ""));
    cr_expect_eq(json_array_size(json_object_get(seen, "messages")), 11);
    json_decref(seen);
}

/* -- plans ------------------------------------------------------------------------------------- */

/* Raises unless the plan of the prepared statement walks the four indexes by all known columns. */
static const char assert_walks[] =
    "DO $do$ DECLARE line text; walks text := ''; BEGIN "
    "FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) EXECUTE planned(NULL, NULL, 51, 2000, NULL, NULL,"
    " NULL, NULL, NULL, NULL)' LOOP "
    "IF line ~ 'Seq Scan|Bitmap|Sort|Gather' "
    "OR (line ~ 'Index Cond' AND line !~ '\\(organization_id = .* AND ') THEN "
    "RAISE EXCEPTION 'planned by %', line; END IF; "
    "walks := walks || coalesce(substring(line FROM 'using (conversations_[a-z_]+) ') || ' ', '');"
    "END LOOP; IF walks <> 'conversations_pkey conversations_of_contact conversations_by_status "
    "conversations_by_channel conversations_pkey ' THEN "
    "RAISE EXCEPTION 'walks %', walks; END IF; END $do$";

/* `n` organizations with one conversation each: statistics that make an index's first column look
   as good as all of its columns. */
static void fill_many(int n)
{
    postgres_do(server.url,
                arena_printf(&arena,
                             "TRUNCATE conversation.conversations CASCADE;"
                             "INSERT INTO conversation.conversations (organization_id, id, channel,"
                             " status, created_at, updated_at) SELECT gen_random_uuid(),"
                             " gen_random_uuid(), 'email', 'waiting', now(), now()"
                             " FROM generate_series(1, %d); ANALYZE",
                             n));
}

/* Under the service's role, with its settings. */
Test(inbox_store, is_planned_as_walks_whatever_the_statistics_say)
{
    const char *plan = arena_printf(&arena, "PREPARE planned AS %s; %s",
                                    conversation_sql[SQL_INBOX].text, assert_walks);
    char url[POSTGRES_URL_MAX];

    postgres_url_as(&server, "conv_conversation", url);
    postgres_do(url, plan);
    for (int n = 1; n <= 10000; n *= 100) {
        fill_many(n);
        postgres_do(url, plan);
    }
    fill(20000, 3, "email", "waiting");
    postgres_do(server.url, "ANALYZE conversation.conversations");
    postgres_do(url, plan);
}

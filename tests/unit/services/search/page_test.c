/* What a client gets: pages of conversations, and the cursors from one to the next. */
#include "services/search/search.h"
#include "tests/unit/services/search/search_fixture.h"

#define ORG   "01920000-0000-7000-8000-000000000001"
#define OTHER "01920000-0000-7000-8000-000000000002"

static struct search service;

/* Contacts u (25 conversations, three at each moment), v (none) and x (erased); u of another
   organization has one conversation. */
static void fill(void)
{
    postgres_do(
        server.url,
        "INSERT INTO conversation.contacts "
        "(organization_id, id, external_id, name, email, phone, created_at, erased_at) VALUES"
        "('" ORG "', '01930000-0000-7000-8000-000000000001', 'u', 'U', 'u@x', '1', now(), NULL),"
        "('" ORG "', '01930000-0000-7000-8000-000000000002', 'v', NULL, NULL, NULL, now(), NULL),"
        "('" ORG "', '01930000-0000-7000-8000-000000000003', NULL, NULL, NULL, NULL, now(), now()),"
        "('" OTHER "', '01930000-0000-7000-8000-000000000004', 'u', NULL, NULL, NULL, now(), NULL);"
        "INSERT INTO conversation.conversations (organization_id, id, external_id, contact_id, "
        "channel, status, custom_attributes, created_at, updated_at) "
        "SELECT '" ORG "', ('01940000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 'e' || i, "
        "'01930000-0000-7000-8000-000000000001', 'api', 'active', '{\"a\": 1.50}', "
        "to_timestamp(1700000000 + i / 3 * 0.25), to_timestamp(1700000100) "
        "FROM generate_series(1, 25) AS i;"
        "INSERT INTO conversation.conversations (organization_id, id, external_id, contact_id, "
        "channel, status, created_at, updated_at) VALUES"
        "('" ORG "', gen_random_uuid(), 'of x', '01930000-0000-7000-8000-000000000003', 'api',"
        "'active', now(), now()),"
        "('" OTHER "', gen_random_uuid(), 'e1', '01930000-0000-7000-8000-000000000004', 'api',"
        "'active', now(), now())");
}

static void start_filled(void)
{
    start();
    fill();
    cr_assert(cursor_keys_read("0123456789abcdef0123456789abcdef0123456789", NULL, &service.keys));
}

TestSuite(search_page, .init = start_filled, .fini = stop);

/* -- one command ----------------------------------------------------------------------------- */

static void open_batch(void)
{
    db_open_batch(db, clock_us() + 30 * INT64_C(1000000));
}

/* False: the command is refused. */
static bool parse(struct command *command, const char *organization, const char *body)
{
    *command =
        (struct command){.handler = &search_conversations, .arena = &arena, .body = str_of(body)};
    errors_init(&command->errors, &arena);
    buf_init(&command->reply, &arena, 1024);
    cr_assert(uuid_parse(str_of(organization), &command->caller.organization_id));
    return command_parse(command, &service) == ST_OK;
}

/* The same; if true, a batch is open for the command. */
static bool prepare(struct command *command, const char *organization, const char *body)
{
    if (!parse(command, organization, body))
        return false;
    open_batch();
    return true;
}

static void ask(struct command *command)
{
    search_conversations.query(command, db, &service);
    search_conversations.query_together(&command, 1, db, &service);
}

static struct command *run_as(const char *organization, const char *body)
{
    struct command *command = ARENA_NEW(&arena, struct command);

    if (!prepare(command, organization, body))
        return command;
    ask(command);
    cr_assert_eq(db_run(db), ST_OK, "%s: %s", body, db_last_sqlstate(db));
    search_conversations.query_rest(command, db, &service);
    cr_assert_eq(db_run(db), ST_OK, "%s: %s", body, db_last_sqlstate(db));
    cr_assert_eq(search_conversations.reply(command, db, &service), ST_OK);
    cr_assert_eq(db_commit(db), ST_OK);
    return command;
}

static json_t *list_of(const struct command *command)
{
    char error[160];
    json_t *list;

    cr_assert_eq(command->errors.n, 0, "%s", command->errors.at[0].message);
    cr_assert(json_read(buf_str(&command->reply), &list, error), "%s", error);
    cr_assert_str_eq(json_string_value(json_object_get(list, "type")), "conversation.list");
    return list;
}

static json_t *search(const char *body)
{
    return list_of(run_as(ORG, body));
}

static json_int_t total_of(const json_t *list)
{
    return json_integer_value(json_object_get(list, "total_count"));
}

static json_int_t page_of(const json_t *list)
{
    return json_integer_value(json_object_get(json_object_get(list, "pages"), "page"));
}

static size_t count_of(const json_t *list)
{
    return json_array_size(json_object_get(list, "conversations"));
}

/* NULL on the last page. */
static const char *next_of(const json_t *list)
{
    const json_t *pages = json_object_get(list, "pages"), *next = json_object_get(pages, "next");

    return next != NULL ? json_string_value(json_object_get(next, "starting_after")) : NULL;
}

static const char *id_at(const json_t *list, size_t i)
{
    return json_string_value(
        json_object_get(json_array_get(json_object_get(list, "conversations"), i), "id"));
}

#define OF_U(per_page, after)                                                                      \
    arena_printf(&arena,                                                                           \
                 "{\"query\":" CONTACT ",\"pagination\":{\"per_page\":%d,"                         \
                 "\"starting_after\":%s%s%s}}",                                                    \
                 per_page, (after) ? "\"" : "", (after) ? (after) : "null", (after) ? "\"" : "")

/* -- pages ----------------------------------------------------------------------------------- */

Test(search_page, shows_conversations_as_they_are_read_elsewhere)
{
    struct command *command = run_as(ORG, OF_U(1, (char *)NULL));
    const char *id = "01930000-0000-7000-8000-000000000001";
    const char *expected =
        "{\"type\":\"conversation.list\",\"conversations\":[{\"type\":\"conversation\","
        "\"id\":\"01940000-0000-7000-8000-000000000025\",\"external_id\":\"e25\","
        "\"created_at\":1700000002,\"updated_at\":1700000100,\"last_message_at\":null,"
        "\"channel\":\"api\",\"source\":{\"type\":\"api\"},\"state\":\"open\",\"open\":true,"
        "\"status\":\"active\",\"custom_attributes\":{\"a\":1.50},\"message_count\":0,"
        "\"contact\":{\"type\":\"contact\",\"id\":\"01930000-0000-7000-8000-000000000001\","
        "\"external_id\":\"u\",\"name\":\"U\",\"email\":\"u@x\",\"phone\":\"1\"},"
        "\"contacts\":{\"type\":\"contact.list\",\"contacts\":[{\"type\":\"contact\","
        "\"id\":\"01930000-0000-7000-8000-000000000001\",\"external_id\":\"u\"}]}}],"
        "\"total_count\":25,\"pages\":{\"type\":\"pages\",\"page\":1,\"per_page\":1,"
        "\"next\":{\"starting_after\":\"";
    const struct str reply = buf_str(&command->reply);
    char text[UUID_TEXT + 1];

    cr_assert(str_starts(reply, str_of(expected)), "%.*s", STR_ARG(reply));
    uuid_format(&command->contact_id, text);
    cr_assert_str_eq(text, id);
}

/* The searches of a batch share a statement and nothing else. */
Test(search_page, of_a_batch_has_the_total_of_its_own_search)
{
    static const struct {
        const char *organization, *body;
        int total;
    } searches[] = {
        {ORG, ONLY(CONTACT), 25},
        {ORG, ONLY(FILTER("contact.external_id", "=", "\"nobody\"")), 0},
        {ORG, WITH("external_id", "=", "\"e25\""), 1},
        {OTHER, ONLY(CONTACT), 1},
        {ORG, WITH("created_at", "<", "0"), 0},
    };
    enum { N = ARRAY_SIZE(searches) };
    struct command *commands[N];

    for (size_t i = 0; i < N; i++) {
        commands[i] = ARENA_NEW(&arena, struct command);
        cr_assert(parse(commands[i], searches[i].organization, searches[i].body));
    }
    open_batch();
    for (size_t i = 0; i < N; i++)
        search_conversations.query(commands[i], db, &service);
    search_conversations.query_together(commands, N, db, &service);
    cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
    for (size_t i = 0; i < N; i++) {
        json_t *list;

        cr_assert_eq(search_conversations.reply(commands[i], db, &service), ST_OK);
        list = list_of(commands[i]);
        cr_assert_eq(total_of(list), searches[i].total, "%s", searches[i].body);
        cr_assert_eq(uuid_is_nil(&commands[i]->contact_id), i == 1, "%s", searches[i].body);
        json_decref(list);
    }
    cr_assert_eq(db_commit(db), ST_OK);
}

static void assert_walk(int per_page)
{
    const char *after = NULL;
    size_t seen = 0;
    int page = 0;
    json_t *list;

    do {
        list = search(OF_U(per_page, after));
        cr_assert_eq(page_of(list), ++page);
        cr_assert_eq(total_of(list), 25);
        for (size_t i = 0; i < count_of(list); i++, seen++)
            cr_assert_str_eq(id_at(list, i),
                             arena_printf(&arena, "01940000-0000-7000-8000-%012d", 25 - (int)seen));
        after = next_of(list) != NULL ? arena_cstr(&arena, str_of(next_of(list))) : NULL;
        cr_assert_eq(after != NULL, seen < 25);
        json_decref(list);
    } while (after != NULL);
    cr_assert_eq(page, (25 + per_page - 1) / per_page);
}

Test(search_page, leads_through_all_of_them_newest_first)
{
    assert_walk(1);
    assert_walk(4);
    assert_walk(5);
    assert_walk(25);
    assert_walk(100);
}

Test(search_page, continues_at_its_place_despite_creates_and_deletes)
{
    json_t *list = search(OF_U(10, (char *)NULL)), *next;
    const char *after = next_of(list);

    postgres_do(
        server.url,
        "UPDATE conversation.conversations SET deleted_at = now() "
        "WHERE external_id IN ('e16', 'e15'); "
        "UPDATE conversation.conversations SET created_at = now() WHERE external_id = 'e1'");
    next = search(OF_U(10, after));
    cr_assert_str_eq(id_at(next, 0), "01940000-0000-7000-8000-000000000014");
    cr_assert_eq(total_of(next), 23);
    cr_assert_eq(count_of(next), 10);
    postgres_do(server.url, "UPDATE conversation.conversations SET deleted_at = now() "
                            "WHERE external_id ~ '^e.$'");
    after = next_of(next);
    json_decref(list);
    list = search(OF_U(10, after));
    cr_assert_eq(count_of(list), 0);
    cr_assert_eq(page_of(list), 3);
    cr_assert_eq(total_of(list), 14);
    cr_assert_null(next_of(list));
    json_decref(next);
    json_decref(list);
}

/* The lowest cost of five runs: the first may have to fill caches. */
static uint32_t min_cost(const char *body)
{
    uint32_t min = UINT32_MAX;

    for (int i = 0; i < 5; i++) {
        const uint32_t cost = run_as(ORG, body)->cost;

        min = cost < min ? cost : min;
    }
    return min;
}

/* Very many conversations are counted once and the total is kept; later ones are still found. */
Test(search_page, keeps_the_total_of_very_many)
{
    static const char more[] =
        "INSERT INTO conversation.conversations (organization_id, id, contact_id, channel, status, "
        "created_at, updated_at) SELECT '" ORG "', gen_random_uuid(), "
        "'01930000-0000-7000-8000-000000000001', 'email', 'active', '%s', now() "
        "FROM generate_series(1, %d)";
    const uint32_t few = min_cost(OF_U(1, (char *)NULL));
    uint32_t many;
    json_t *list, *next;

    postgres_do(server.url, arena_printf(&arena, more, "2020-01-01", 10000));
    postgres_do(server.url, "VACUUM (ANALYZE) conversation.conversations");
    many = min_cost(OF_U(1, (char *)NULL));
    cr_expect_gt(many, few, "%u units, not more than %u", many, few);
    list = search(OF_U(24, (char *)NULL));
    cr_assert_eq(total_of(list), 10025);
    postgres_do(server.url, arena_printf(&arena, more, "2019-01-01", 5));
    next = search(OF_U(24, next_of(list)));
    cr_assert_eq(total_of(next), 10025);
    cr_assert_eq(count_of(next), 24);
    json_decref(next);
    json_decref(list);
    list = search(OF_U(24, (char *)NULL));
    cr_assert_eq(total_of(list), 10030);
    json_decref(list);
}

/* -- costs ----------------------------------------------------------------------------------- */

enum { WAIT_US = 50 * 1000 };

/* The cost of a search that waits WAIT_US for a locked table. */
static uint32_t cost_of_waiting(const char *body)
{
    static const struct db_statement lock = {.name = "lock",
                                             .text = "TRUNCATE conversation.conversations CASCADE"};
    struct command *const command = ARENA_NEW(&arena, struct command);
    struct db *const other = postgres_connect_as(&server, "postgres", &lock, 1);
    int64_t began_us;

    db_open_batch(other, clock_us() + 30 * INT64_C(1000000));
    (void)db_add(other, 0, NULL);
    cr_assert_eq(db_run(other), ST_OK);
    cr_assert(prepare(command, ORG, body));
    ask(command);
    cr_assert_eq(db_send_run(db), ST_OK);
    began_us = clock_mono_us();
    while (clock_mono_us() < began_us + WAIT_US)
        cr_assert_not(db_is_ready(db));
    postgres_await(server.url, "SELECT count(*) FROM pg_locks WHERE NOT granted");
    db_abandon(other);
    db_free(other);
    cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
    search_conversations.query_rest(command, db, &service);
    cr_assert_eq(db_run(db), ST_OK, "%s", db_last_sqlstate(db));
    cr_assert_eq(search_conversations.reply(command, db, &service), ST_OK);
    cr_assert_eq(db_commit(db), ST_OK);
    return command->cost;
}

Test(search_page, costs_no_more_than_the_rows_read)
{
    static const char *const bodies[] = {
        ONLY(CONTACT),
        ONLY(FILTER("contact.external_id", "=", "\"nobody\"")),
        WITH("status", "=", "\"active\""),
        WITH("custom_attributes.a", "=", "1.5"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        const uint32_t cost = cost_of_waiting(bodies[i]);

        cr_expect_leq(cost, 1 + (500 + 8 * 2 * 25) / 20, "%s: %u units", bodies[i], cost);
    }
}

/* A search that is slow because of the data that it fetches is charged more than its entries.
   Otherwise it would not get into the slow lane. Rows of 200 KB that do not compress take several
   times as long. */
Test(search_page, costs_what_large_attributes_take)
{
    /* The page reads all conversations; or two, and the rest are counted. */
    static const char *const bodies[] = {
        WITH("custom_attributes.a", "=", "1.5"),
        "{\"query\":{\"operator\":\"AND\",\"value\":[" CONTACT
        "," FILTER("custom_attributes.a", "!=", "1.5") "]},\"pagination\":{\"per_page\":1}}",
    };

    postgres_do(server.url,
                "UPDATE conversation.conversations SET custom_attributes = ("
                "SELECT jsonb_object_agg('k' || k, (SELECT string_agg(md5(k::text || n::text), '') "
                "FROM generate_series(1, 320) n)) FROM generate_series(1, 20) k)");
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        const uint32_t cost = cost_of_waiting(bodies[i]);

        cr_expect_gt(cost, 10 + 1 + (500 + 8 * 2 * 25) / 20, "%s: %u units", bodies[i], cost);
    }
}

/* -- no such contact ------------------------------------------------------------------------- */

Test(search_page, is_empty_for_a_contact_that_is_not_known_here)
{
    static const char *const bodies[] = {
        ONLY(FILTER("contact.external_id", "=", "\"v\"")),
        ONLY(FILTER("contact.external_id", "=", "\"nobody\"")),
        ONLY(FILTER("contact.external_id", "=", "\"U\"")),
        ONLY(FILTER("contact.id", "=", "\"01930000-0000-7000-8000-00000000ffff\"")),
        ONLY(FILTER("contact.id", "=", "\"01930000-0000-7000-8000-000000000003\"")),
        ONLY(FILTER("contact.id", "=", "\"01930000-0000-7000-8000-000000000004\"")),
        ONLY(FILTER("contact_ids", "=", "\"u\"")),
        ONLY(FILTER("contact_ids", "=", "\"\"")),
    };

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct command *command = run_as(ORG, bodies[i]);

        cr_assert(str_equal(buf_str(&command->reply),
                            STR("{\"type\":\"conversation.list\",\"conversations\":[],"
                                "\"total_count\":0,\"pages\":{\"type\":\"pages\",\"page\":1,"
                                "\"per_page\":50}}")),
                  "%s: %.*s", bodies[i], STR_ARG(buf_str(&command->reply)));
        cr_assert_eq(uuid_is_nil(&command->contact_id), i > 0);
    }
}

/* -- refusals -------------------------------------------------------------------------------- */

static void assert_refused(const char *organization, const char *body, enum outcome outcome,
                           const char *field)
{
    struct command *command = run_as(organization, body);

    cr_assert_eq(command->outcome, outcome, "%s", body);
    cr_assert_eq(command->errors.n, 1);
    cr_assert_str_eq(command->errors.at[0].field, field);
}

Test(search_page, accepts_a_cursor_only_from_the_same_list)
{
    json_t *list = search(OF_U(10, (char *)NULL));
    const char *after = next_of(list);

    assert_refused(ORG, OF_U(11, after), OUTCOME_INVALID_CURSOR, "pagination.starting_after");
    assert_refused(OTHER, OF_U(10, after), OUTCOME_INVALID_CURSOR, "pagination.starting_after");
    assert_refused(ORG, OF_U(10, "AAAA"), OUTCOME_INVALID_CURSOR, "pagination.starting_after");
    assert_refused(ORG, OF_U(10, ""), OUTCOME_INVALID_CURSOR, "pagination.starting_after");
    assert_refused(ORG, OF_U(0, after), OUTCOME_PARAMETER_INVALID, "pagination.per_page");
    json_decref(list);
}

Test(search_page, replies_with_the_code_of_the_first_error)
{
    assert_refused(ORG, "{}", OUTCOME_PARAMETER_NOT_FOUND, "query");
    assert_refused(ORG, WITH("x", "=", "1"), OUTCOME_INVALID_FIELD, "query.value[1].field");
    assert_refused(ORG, WITH("state", "^", "1"), OUTCOME_INVALID_OPERATOR,
                   "query.value[1].operator");
}

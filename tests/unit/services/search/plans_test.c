/* What the role may do, and how its statements are planned. */
#include "tests/unit/services/search/search_fixture.h"

TestSuite(search_plans, .init = start, .fini = stop);

static int64_t is_allowed(const char *table, const char *privilege)
{
    return postgres_integer(
        server.url,
        arena_printf(&arena, "SELECT has_table_privilege('conv_search', '%s', '%s')::int", table,
                     privilege));
}

Test(search_plans, the_role_reads_what_it_searches_and_writes_only_to_the_audit_log)
{
    cr_assert_eq(postgres_integer(
                     server.url,
                     "SELECT count(*) FROM pg_class t JOIN pg_namespace n ON n.oid = relnamespace "
                     "WHERE relkind IN ('r', 'p', 'v') AND nspname NOT LIKE 'pg\\_%' "
                     "AND nspname <> 'information_schema' "
                     "AND (has_any_column_privilege('conv_search', t.oid, 'INSERT, UPDATE')"
                     " OR has_table_privilege('conv_search', t.oid, 'DELETE, TRUNCATE'))"),
                 1);
    cr_assert(postgres_integer(server.url, "SELECT has_column_privilege('conv_search',"
                                           " 'audit.entries', 'request_id', 'INSERT')::int"));
    cr_assert_not(is_allowed("audit.entries", "INSERT, SELECT, UPDATE, DELETE"),
                  "the writer cannot choose an entry's transaction");
    cr_assert(is_allowed("conversation.conversations", "SELECT"));
    cr_assert(is_allowed("conversation.contacts", "SELECT"));
    cr_assert_not(is_allowed("conversation.messages", "SELECT"));
    cr_assert_not(is_allowed("webhook.events", "SELECT"));
}

/* -- plans ----------------------------------------------------------------------------------- */

/* Raises unless the plan of the prepared statement `planned` only walks along an index, by all
   known columns: it scans no table, sorts no page, and starts the walk at the page's place (the
   planner could choose a second upper bound instead). */
#define ASSERT_WALKS                                                                               \
    "DO $do$ DECLARE line text; walks int := 0; counts int := 0; BEGIN "                           \
    "FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) EXECUTE planned%s' LOOP "                            \
    "IF line ~ 'Seq Scan|Bitmap|-> +Sort|Incremental' "                                            \
    "OR (line ~ 'Index Cond' AND line !~ '\\((organization_id = .* AND |oid = )') "                \
    "OR (line ~ 'ROW\\(created_at' AND line ~ 'created_at <[^=]') THEN "                           \
    "RAISE EXCEPTION 'planned by %%', line; END IF; "                                              \
    "walks := walks + (line ~ 'using conversations_of_contact')::int; "                            \
    "counts := counts + (line ~ 'Index Only Scan using conversations_of_contact')::int; "          \
    "END LOOP; "                                                                                   \
    "IF walks <> %d OR counts <> %d THEN "                                                         \
    "RAISE EXCEPTION '%% walks, %% counts', walks, counts; END IF; END $do$"

/* Expects `walks` along the index of a contact's conversations, `counts` of them index-only. */
static void assert_walks(enum search_sql statement, int walks, int counts)
{
    const char *const text = search_sql[statement].text;

    postgres_do(search_url(), arena_printf(&arena, "PREPARE planned AS %s; " ASSERT_WALKS, text,
                                           postgres_nulls(text), walks, counts));
}

/* Contacts with `conversations` conversations each. */
static void fill(int organizations, int contacts, int conversations)
{
    postgres_do(
        server.url,
        arena_printf(
            &arena,
            "TRUNCATE conversation.contacts, conversation.conversations CASCADE;"
            "INSERT INTO conversation.contacts (organization_id, id, external_id, created_at) "
            "SELECT md5(o::text)::uuid, md5(c::text)::uuid, 'u' || c, now() "
            "FROM generate_series(1, %d) o, generate_series(1, %d) c;"
            "INSERT INTO conversation.conversations (organization_id, id, external_id, contact_id, "
            "channel, status, created_at, updated_at) "
            "SELECT organization_id, gen_random_uuid(), external_id || '-' || n, id, 'api', "
            "'active', now() - n * interval '1 minute', now() "
            "FROM generate_series(1, %d) n, conversation.contacts",
            organizations, contacts, conversations));
    postgres_do(server.url, "VACUUM (ANALYZE) conversation.contacts, conversation.conversations");
}

static void assert_all_walk(void)
{
    assert_walks(SQL_SEARCH_CONTACT, 1, 0);
    assert_walks(SQL_SEARCH_TOTAL, 1, 1);
    assert_walks(SQL_SEARCH_FILTERED, 1, 0);
    assert_walks(SQL_SEARCH_WITHOUT, 1, 0);
    assert_walks(SQL_SEARCH_REST, 1, 0);
}

Test(search_plans, walk_along_the_index_whatever_the_statistics_say)
{
    assert_all_walk();
    fill(1, 1, 1);
    assert_all_walk();
    fill(1, 200, 100);
    assert_all_walk();
    fill(1, 1, 20000);
    assert_all_walk();
    fill(5000, 1, 1);
    assert_all_walk();
}

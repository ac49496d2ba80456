/* What the role may do, and how its statements are planned. */
#include "tests/unit/services/conversation/conversation_fixture.h"

TestSuite(role, .init = start, .fini = stop);

static int64_t is_allowed(const char *table, const char *privilege)
{
    return count(arena_printf(&arena,
                              "SELECT has_table_privilege('conv_conversation', '%s', '%s')::int",
                              table, privilege));
}

static int64_t may(const char *privilege, const char *table, const char *column)
{
    return count(arena_printf(
        &arena, "SELECT has_column_privilege('conv_conversation', '%s', '%s', '%s')::int", table,
        column, privilege));
}

Test(role, never_changes_the_organization_or_origin_of_a_row)
{
    static const char *const fixed[] = {"organization_id", "id",      "external_id",
                                        "contact_id",      "channel", "created_at"};

    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
        cr_assert_not(may("UPDATE", "conversation.conversations", fixed[i]), "%s", fixed[i]);
    cr_assert_not(may("UPDATE", "conversation.contacts", "organization_id"));
    cr_assert_not(may("UPDATE", "conversation.contacts", "id"));
    cr_assert(may("UPDATE", "conversation.conversations", "status"));
    cr_assert(may("UPDATE", "conversation.contacts", "erased_at"));
}

Test(role, deletes_nothing_but_messages)
{
    cr_assert(is_allowed("conversation.conversations", "INSERT"));
    cr_assert_not(is_allowed("conversation.conversations", "DELETE"));
    cr_assert_not(is_allowed("conversation.contacts", "DELETE"));
    cr_assert(is_allowed("conversation.messages", "DELETE"));
    cr_assert_not(is_allowed("conversation.messages", "UPDATE"));
    cr_assert(may("INSERT", "webhook.events", "data"));
    cr_assert_not(may("INSERT", "webhook.events", "number"));
    cr_assert_not(may("INSERT", "webhook.events", "xid"));
    cr_assert_not(is_allowed("webhook.events", "SELECT"));
    cr_assert_not(is_allowed("webhook.events", "DELETE"));
    cr_assert_not(is_allowed("webhook.endpoints", "SELECT"), "all of it");
}

/* -- plans ----------------------------------------------------------------------------------- */

/* Raises if the plan of the prepared statement `planned` reads more than one key's rows.
   Exceptions: endpoints, which are read until one wants the event, and moving organizations. There
   are few of either. */
#define ASSERT_BY_KEY                                                                              \
    "DO $do$ DECLARE line text; before text = ''; BEGIN "                                          \
    "FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) EXECUTE planned%s' LOOP "                            \
    "IF line ~ 'Seq Scan(?! on moves)|Bitmap|conversations_of_contact' "                           \
    "OR (line ~ 'Index Cond' AND line !~ ' AND ' AND before !~ ' on endpoints') "                  \
    "OR (before ~ 'Index (Only )?Scan' AND before !~ ' on moves' AND line !~ 'Index Cond') THEN "  \
    "RAISE EXCEPTION 'planned by %% %%', before, line; END IF; before = line; "                    \
    "END LOOP; END $do$"

static void assert_planned_by_key(void)
{
    char url[POSTGRES_URL_MAX];

    postgres_url_as(&server, "conv_conversation", url);
    for (size_t i = 0; i < CONVERSATION_SQL_COUNT; i++) {
        const char *const text = conversation_sql[i].text;

        if (i == SQL_INBOX) /* a walk: inbox_store_test.c */
            continue;
        postgres_do(url, arena_printf(&arena, "PREPARE planned AS %s; " ASSERT_BY_KEY, text,
                                      postgres_nulls(text)));
    }
}

/* `n` organizations with one contact and one conversation each: statistics that make an index's
   first column look as good as all of its columns. */
static void fill(int n)
{
    postgres_do(
        server.url,
        arena_printf(
            &arena,
            "TRUNCATE conversation.contacts, conversation.conversations CASCADE;"
            "INSERT INTO conversation.contacts (organization_id, id, external_id, created_at) "
            "SELECT gen_random_uuid(), gen_random_uuid(), 'u', now() FROM generate_series(1, %d);"
            "INSERT INTO conversation.conversations (organization_id, id, external_id, contact_id, "
            "channel, status, created_at, updated_at) "
            "SELECT organization_id, gen_random_uuid(), 'e', id, 'api', 'active', now(), now() "
            "FROM conversation.contacts; ANALYZE",
            n));
}

Test(role, plans_every_statement_by_its_whole_key_whatever_the_statistics_say)
{
    assert_planned_by_key();
    fill(1);
    assert_planned_by_key();
    fill(100);
    assert_planned_by_key();
    fill(5000);
    assert_planned_by_key();
}

/* Plans of the statements on the audit log, whatever the statistics: statements are prepared while
   a month is empty and used when it is full. */
#include "tests/unit/services/audit/seal_fixture.h"

TestSuite(audit_plans, .init = start, .fini = stop);

/* Raises if the statement `planned` reads a table without an index, reads an index by its first
   column alone, or has a line in its plan that matches `%s`. cell.moves may be scanned: few
   organizations move at a time. */
#define ASSERT_BY_KEY                                                                              \
    "DO $do$ DECLARE line text; plan text := ''; wrong text; node text := ''; BEGIN "              \
    "FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) EXECUTE planned%s' LOOP "                            \
    "plan := plan || line || E'\\n'; "                                                             \
    "IF line ~ ' Scan ' THEN node := line; END IF; "                                               \
    "IF line ~ 'Seq Scan(?! on moves)|Bitmap' OR line ~ 'Disabled' "                               \
    "OR (line ~ 'Index Cond' AND node ~ 'entries_[a-z0-9_]*pkey' AND line !~ 'created_at') "       \
    "OR (line ~ 'Index Cond' AND node ~ 'xid_organization_id' AND line !~ '\\mxid\\M') "           \
    "OR (line ~ 'Index Cond' AND node ~ 'blocks_pkey' AND line !~ 'organization_id = ') "          \
    "OR (line ~ 'Index Cond' AND node ~ 'blocks_by_xid' AND line !~ 'last_xid') "                  \
    "OR line ~ '%s' THEN wrong := coalesce(wrong, line); END IF; END LOOP; "                       \
    "IF wrong IS NOT NULL THEN RAISE EXCEPTION '%%', E'\\n' || wrong || E'\\nin\\n' || plan; "     \
    "END IF; END $do$"

struct expectation {
    enum audit_sql statement;
    const char *never; /* a regular expression that no line of the plan may match */
};

static const struct expectation expectations[] = {
    {SQL_LIST_ENTRIES, "xid_organization_id|Sort  "},
    {SQL_LIST_ENTRIES_FORWARD, "xid_organization_id|Sort  "},
    {SQL_LIST_UNSEALED, "entries_[a-z0-9_]*pkey|-> +Sort"},
    {SQL_READ_WAITING, "entries_[a-z0-9_]*pkey|-> +Sort"},
    {SQL_LIST_BLOCKS, "blocks_by_xid|blocks_of_organization|heads_by_xid"},
    {SQL_LIST_BLOCK_ENTRIES, "blocks_by_xid|blocks_of_organization|xid_organization_id"},
    {SQL_LIST_COVERED_ENTRIES, "blocks_by_xid|xid_organization_id"},
    {SQL_HAS_NAMELESS, "xid_organization_id"},
    {SQL_READ_HEADS, "blocks_by_xid|blocks_of_organization"},
    {SQL_READ_HEAD, "blocks_by_xid|blocks_of_organization"},
    {SQL_READ_PLACE, "blocks_pkey|blocks_of_organization|Sort"},
    {SQL_READ_STAMP, "blocks_pkey|blocks_of_organization|Sort"},
    {SQL_LIST_HEADS_TO_PUBLISH, "blocks_of_organization"},
};

/* Raises if the plan calls a function of ours that should have been inlined. */
#define ASSERT_INLINED                                                                             \
    "DO $do$ DECLARE line text; BEGIN "                                                            \
    "FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) EXECUTE planned%s' LOOP "                   \
    "IF line ~ 'audit\\.(us|at|brief)\\(' THEN RAISE EXCEPTION '%%', line; END IF; END LOOP; END " \
    "$do$"

static void assert_by_key(const struct expectation *expectation)
{
    const char *const text = audit_sql[expectation->statement].text;

    postgres_do(role_url, arena_printf(&arena, "PREPARE planned AS %s; " ASSERT_BY_KEY, text,
                                       postgres_nulls(text), expectation->never));
}

static void assert_all_by_key(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(expectations); i++)
        assert_by_key(&expectations[i]);
}

/* Fills the log with `entries` entries for each organization, sealed in steps of `step`. */
static void fill(int organizations, int entries, size_t step)
{
    struct seal_step sealing = {.entries_max = step};

    postgres_do(server.url, "TRUNCATE audit.entries, audit.blocks, audit.heads");
    postgres_do(
        server.url,
        arena_printf(
            &arena,
            "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id,"
            " operation, http_status, outcome) SELECT md5(o::text)::uuid, audit.time_of(id), id,"
            " '" ORG "', 'ping', 200, 'allowed' FROM generate_series(1, %d) AS o,"
            " generate_series(1, %d) AS n, LATERAL (SELECT (left(test_id(interval '1 s',"
            " 1)::text, 14) || '7' || lpad(to_hex(o %% 4096), 3, '0') || '-8000-' ||"
            " lpad(to_hex(n), 12, '0'))::uuid AS id) AS made",
            organizations, entries));
    do
        seal(&sealing);
    while (sealing.is_behind);
    postgres_do(server.url, "INSERT INTO audit.heads SELECT organization_id, number, last_xid,"
                            " block_hash FROM audit.blocks");
}

Test(audit_plans, go_by_the_key_whatever_the_statistics_say)
{
    assert_all_by_key();
    fill(1, 1, 100);
    assert_all_by_key();
    postgres_do(server.url, "VACUUM (ANALYZE) audit.entries, audit.blocks, audit.heads");
    assert_all_by_key();
    fill(1, 5000, 10);
    postgres_do(server.url, "VACUUM (ANALYZE) audit.entries, audit.blocks, audit.heads");
    assert_all_by_key();
    fill(2000, 2, 5000);
    postgres_do(server.url, "VACUUM (ANALYZE) audit.entries, audit.blocks, audit.heads");
    assert_all_by_key();
}

Test(audit_plans, call_no_function_for_each_entry)
{
    static const enum audit_sql statements[] = {SQL_LIST_UNSEALED, SQL_LIST_ENTRIES,
                                                SQL_LIST_ENTRIES_FORWARD};

    for (size_t i = 0; i < ARRAY_SIZE(statements); i++) {
        const char *const text = audit_sql[statements[i]].text;

        postgres_do(role_url, arena_printf(&arena, "PREPARE planned AS %s; " ASSERT_INLINED, text,
                                           postgres_nulls(text)));
    }
}

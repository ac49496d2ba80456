/* What roles may do with the audit log: insert and read, nothing else. */
#include "tests/unit/services/audit/seal_fixture.h"

TestSuite(role, .init = start, .fini = stop);

static const char *const roles[] = {"conv_access", "conv_audit", "conv_conversation", "conv_search",
                                    "conv_webhook"};
enum { ROLES = ARRAY_SIZE(roles) };

/* Runs a statement, rolls it back, and returns its SQLSTATE. */
static const char *state_as(PGconn *in, const char *role, const char *statement)
{
    static char state[6];
    PGresult *result;

    say(in, arena_printf(&arena, "BEGIN; SET LOCAL ROLE %s", role));
    result = PQexec(in, statement);
    snprintf(state, sizeof(state), "%s",
             PQresultErrorField(result, PG_DIAG_SQLSTATE) != NULL
                 ? PQresultErrorField(result, PG_DIAG_SQLSTATE)
                 : "00000");
    PQclear(result);
    say(in, "ROLLBACK");
    return state;
}

/* Covers every table of the schema, including months and the default partition. */
Test(role, cannot_alter_or_remove_anything_in_the_audit_log)
{
    PGconn *in = session();
    PGresult *tables;

    postgres_do(server.url, ENTRY(ORG, "1 s", 1));
    tables = PQexec(in, "SELECT format('audit.%I', relname), attname FROM pg_class JOIN "
                        "pg_attribute ON attrelid = pg_class.oid AND attnum = 1 WHERE "
                        "relnamespace = 'audit'::regnamespace AND relkind IN ('r', 'p')");
    cr_assert_geq(PQntuples(tables), 9);
    for (int i = 0; i < PQntuples(tables); i++) {
        const char *table = PQgetvalue(tables, i, 0), *column = PQgetvalue(tables, i, 1);
        const char *const attempts[] = {
            arena_printf(&arena, "UPDATE %s SET %s = %s", table, column, column),
            arena_printf(&arena, "DELETE FROM %s", table),
            arena_printf(&arena, "TRUNCATE %s", table),
            arena_printf(&arena, "DROP TABLE %s", table),
            arena_printf(&arena, "ALTER TABLE %s ADD COLUMN more int", table),
        };

        for (int role = 0; role < ROLES; role++)
            for (size_t j = 0; j < ARRAY_SIZE(attempts); j++)
                cr_expect_str_eq(state_as(in, roles[role], attempts[j]), "42501", "%s as %s",
                                 attempts[j], roles[role]);
    }
    PQclear(tables);
    PQfinish(in);
}

static void expect_state(PGconn *in, const char *role, const char *statement, const char *state)
{
    const char *got = state_as(in, role, statement);

    cr_expect_str_eq(got, state, "%s as %s: %s", statement, role, got);
}

#define OWN_TIME "audit.time_of('" ORG "')"

Test(role, appends_entries_but_does_not_say_which_transaction_it_is)
{
    PGconn *in = session();

    postgres_do(server.url, "GRANT EXECUTE ON FUNCTION test_id TO PUBLIC");
    for (int role = 1; role < 4; role++) {
        expect_state(in, roles[role],
                     "INSERT INTO audit.entries (organization_id, created_at, request_id,"
                     " api_key_id, operation, http_status, outcome) VALUES ('" ORG "',"
                     " " OWN_TIME ", '" ORG "', '" ORG "', 'ping', 200, 'allowed')",
                     "00000");
        expect_state(in, roles[role],
                     "INSERT INTO audit.entries (organization_id, created_at, request_id,"
                     " api_key_id, operation, http_status, outcome, xid) VALUES ('" ORG "',"
                     " now(), '" ORG "', '" ORG "', 'ping', 200, 'allowed', '1')",
                     "42501");
    }
    PQfinish(in);
}

/* An entry whose parts the tests put at their bounds and beyond them. */
#define APPEND(at, operation, status, outcome, reason)                                             \
    "INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id, operation,"   \
    " http_status, outcome, denial_reason) VALUES ('" ORG "', " at ", '" ORG "', '" ORG            \
    "', " operation ", " status ", " outcome ", " reason ")"

Test(role, appends_nothing_beyond_the_bounds)
{
    static const char *const within[] = {
        APPEND(OWN_TIME, "'p'", "100", "'a'", "'r'"),
        APPEND(OWN_TIME, "repeat('p', 64)", "599", "repeat('a', 64)", "repeat('r', 64)"),
        APPEND(OWN_TIME, "'ping'", "200", "'allowed'", "NULL"),
    };
    static const char *const beyond[] = {
        APPEND("now()", "'ping'", "200", "'allowed'", "NULL"),
        APPEND(OWN_TIME " + interval '1 microsecond'", "'ping'", "200", "'allowed'", "NULL"),
        APPEND("'1969-12-31 23:59:59.999999+00'", "'ping'", "200", "'allowed'", "NULL"),
        APPEND("'10900-01-01 00:00+00'", "'ping'", "200", "'allowed'", "NULL"),
        APPEND("'infinity'", "'ping'", "200", "'allowed'", "NULL"),
        APPEND("'-infinity'", "'ping'", "200", "'allowed'", "NULL"),
        APPEND(OWN_TIME, "''", "200", "'allowed'", "NULL"),
        APPEND(OWN_TIME, "repeat('\u00e9', 33)", "200", "'allowed'", "NULL"),
        APPEND(OWN_TIME, "E'a\\nb'", "200", "'allowed'", "NULL"),
        APPEND(OWN_TIME, "'ping'", "99", "'allowed'", "NULL"),
        APPEND(OWN_TIME, "'ping'", "600", "'allowed'", "NULL"),
        APPEND(OWN_TIME, "'ping'", "200", "''", "NULL"),
        APPEND(OWN_TIME, "'ping'", "200", "repeat('a', 65)", "NULL"),
        APPEND(OWN_TIME, "'ping'", "200", "E'\\n'", "NULL"),
        APPEND(OWN_TIME, "'ping'", "200", "'denied'", "''"),
        APPEND(OWN_TIME, "'ping'", "200", "'denied'", "repeat('r', 65)"),
        APPEND(OWN_TIME, "'ping'", "200", "'denied'", "E'r\\n'"),
    };
    PGconn *in = session();

    for (int role = 1; role < 4; role++) {
        for (size_t i = 0; i < ARRAY_SIZE(within); i++)
            expect_state(in, roles[role], within[i], "00000");
        for (size_t i = 0; i < ARRAY_SIZE(beyond); i++)
            expect_state(in, roles[role], beyond[i], "42501");
    }
    PQfinish(in);
}

/* Search makes no changes, and access sends its changes to audit, which sets their time: they were
   made earlier. */
Test(role, appends_changes_but_does_not_say_when_it_was)
{
    PGconn *in = session();

    for (int role = 0; role < ROLES; role++) {
        expect_state(in, roles[role],
                     "INSERT INTO audit.changes (organization_id, id, who, change, detail)"
                     " VALUES ('" ORG "', '" ORG "', 'operator', 'key.create', '{}')",
                     role == 0 || role == 3 ? "42501" : "00000");
        expect_state(in, roles[role],
                     "INSERT INTO audit.changes (organization_id, id, who, change, detail,"
                     " created_at) VALUES ('" ORG "', '" ORG "', 'operator', 'key.create', '{}',"
                     " now())",
                     role == 1 ? "00000" : "42501");
    }
    PQfinish(in);
}

Test(role, reads_and_seals_the_audit_log_as_the_audit_service_only)
{
    PGconn *in = session();

    for (int role = 0; role < ROLES; role++) {
        const char *state = role == 1 ? "00000" : "42501";

        expect_state(in, roles[role], "SELECT * FROM audit.entries", state);
        expect_state(in, roles[role], "SELECT * FROM audit.blocks", state);
        expect_state(in, roles[role], "SELECT * FROM audit.heads", state);
        expect_state(in, roles[role], "SELECT * FROM audit.changes", state);
        expect_state(in, roles[role], "SELECT audit.drop_changes(1)", state);
        expect_state(in, roles[role], "SELECT audit.count_strays()", state);
        expect_state(in, roles[role], "SELECT audit.find_droppable(3)", state);
        expect_state(in, roles[role],
                     "SELECT audit.drop_month(3, now(), NULL, now(), 'x', 'x', sha512(''))", state);
        expect_state(in, roles[role], "SELECT audit.drop_blocks(1)", state);
        expect_state(in, roles[role], "SELECT audit.may_drop('audit.entries', now(), 1)", "42501");
        expect_state(in, roles[role], "SELECT cell.expire()", state);
    }
    PQfinish(in);
}

/* All services call cell.admit(), and audit cell.expire(); convctl calls the others, as the owner. */
Test(role, moves_no_organization)
{
    cr_expect_eq(count("SELECT count(*) FROM pg_proc, pg_roles"
                       " WHERE pronamespace = 'cell'::regnamespace AND proname <> 'admit'"
                       " AND rolname LIKE 'conv\\_%'"
                       " AND has_function_privilege(pg_roles.oid, pg_proc.oid, 'EXECUTE')"),
                 1);
}

/* Who may do what with the trail: roles insert and read, and nothing else. */
#include "tests/unit/services/audit/sealed.h"

TestSuite(role, .init = start, .fini = stop, .timeout = 120);

static const char *const roles[] = {"conv_access", "conv_audit", "conv_conversation", "conv_search",
                                    "conv_webhook"};
enum { ROLES = sizeof(roles) / sizeof(roles[0]) };

/* The SQLSTATE of a statement, undone whatever it does. */
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

/* Every table of the schema, months and the default partition included. */
Test(role, alters_and_removes_nothing_of_the_trail_whoever_it_is)
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
            for (size_t j = 0; j < sizeof(attempts) / sizeof(attempts[0]); j++)
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

Test(role, appends_entries_but_does_not_say_which_transaction_it_is)
{
    PGconn *in = session();

    postgres_do(server.url, "GRANT EXECUTE ON FUNCTION test_id TO PUBLIC");
    for (int role = 1; role < 4; role++) {
        expect_state(in, roles[role],
                     "INSERT INTO audit.entries (organization_id, created_at, request_id,"
                     " api_key_id, operation, http_status, outcome) VALUES ('" ORG "', now(),"
                     " '" ORG "', '" ORG "', 'ping', 200, 'allowed')",
                     "00000");
        expect_state(in, roles[role],
                     "INSERT INTO audit.entries (organization_id, created_at, request_id,"
                     " api_key_id, operation, http_status, outcome, xid) VALUES ('" ORG "',"
                     " now(), '" ORG "', '" ORG "', 'ping', 200, 'allowed', '1')",
                     "42501");
    }
    PQfinish(in);
}

/* Search makes no changes. */
Test(role, appends_changes_but_does_not_say_when_it_was)
{
    PGconn *in = session();

    for (int role = 0; role < ROLES; role++) {
        expect_state(in, roles[role],
                     "INSERT INTO audit.changes (organization_id, id, who, change, detail)"
                     " VALUES ('" ORG "', '" ORG "', 'operator', 'key.create', '{}')",
                     role == 3 ? "42501" : "00000");
        expect_state(in, roles[role],
                     "INSERT INTO audit.changes (organization_id, id, who, change, detail,"
                     " created_at) VALUES ('" ORG "', '" ORG "', 'operator', 'key.create', '{}',"
                     " now())",
                     "42501");
    }
    PQfinish(in);
}

Test(role, reads_and_seals_the_trail_as_the_audit_service_only)
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
        expect_state(in, roles[role], "SELECT audit.drop_oldest(3)", state);
        expect_state(in, roles[role], "SELECT audit.drop_blocks(1)", state);
        expect_state(in, roles[role], "SELECT audit.may_drop('audit.entries', now(), 1)", "42501");
    }
    PQfinish(in);
}

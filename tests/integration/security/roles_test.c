/*
 * What each service may do in the database, tried with every role at every table and view. Those
 * added later are covered automatically.
 */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "common/base/str.h"
#include "tests/support/api_client.h"
#include "tests/support/sql.h"

TestSuite(roles, .init = stack_share);

static const char *const services[] = {"access", "audit", "conversation", "search", "webhook"};
enum { N_SERVICES = ARRAY_SIZE(services) };

/* All that a role may do outside its own schema. */
static const struct grant {
    const char *service, *relation, *verb;
} grants[] = {
    {"conversation", "audit.entries", "INSERT"},
    {"search", "audit.entries", "INSERT"},
    {"conversation", "audit.changes", "INSERT"},
    {"webhook", "audit.changes", "INSERT"},
    {"audit", "cell.moves", "SELECT"}, /* which organizations another cell serves */
    {"audit", "cell.closed", "SELECT"},
    {"conversation", "cell.moves", "SELECT"},
    {"conversation", "cell.closed", "SELECT"},
    {"search", "cell.moves", "SELECT"},
    {"search", "cell.closed", "SELECT"},
    {"webhook", "cell.moves", "SELECT"},
    {"webhook", "cell.closed", "SELECT"},
    {"webhook", "cell.paused", "SELECT"},
    {"conversation", "audit.numbering", "SELECT"},
    {"webhook", "audit.numbering", "SELECT"},
    {"conversation", "webhook.events", "INSERT"},
    {"conversation", "webhook.wanted_events", "SELECT"},
    {"search", "conversation.conversations", "SELECT"},
    {"search", "conversation.contacts", "SELECT"},
};

/* What no role may do in the schema audit, not even its own: the audit log only grows. */
static bool changes_audit_log(const char *relation, const char *verb)
{
    return strncmp(relation, "audit.", 6) == 0 && strcmp(verb, "SELECT") != 0 &&
           strcmp(verb, "INSERT") != 0;
}

static bool is_granted(const char *service, const char *relation, const char *verb)
{
    for (size_t i = 0; i < ARRAY_SIZE(grants); i++)
        if (strcmp(grants[i].service, service) == 0 && strcmp(grants[i].relation, relation) == 0 &&
            strcmp(grants[i].verb, verb) == 0)
            return true;
    return false;
}

static bool is_forbidden(const char *service, const char *relation, const char *verb)
{
    size_t n = strlen(service);

    if (strcmp(verb, "TRUNCATE") == 0 || changes_audit_log(relation, verb))
        return true;
    if (strncmp(service, relation, n) == 0 && relation[n] == '.')
        return false;
    return !is_granted(service, relation, verb);
}

/* -- signing in ---------------------------------------------------------------------------------
 */

static const char *password_of(const char *service)
{
    char *password = format("%256s", "");
    FILE *file =
        fopen(format("%s/secrets/database-conv_%s", stack_setting("RUN_DIR"), service), "re");

    cr_assert(file != NULL && fgets(password, 256, file) != NULL, "%s", service);
    fclose(file);
    return password;
}

/* The administrator's URL with another user: postgresql://USER:PASSWORD@REST */
static PGconn *sign_in(const char *service, const char *password)
{
    const char *rest = strchr(stack_setting("DATABASE_URL"), '@');

    return PQconnectdb(format("postgresql://conv_%s:%s%s", service, password, rest));
}

static PGconn *connected(const char *service)
{
    PGconn *conn = sign_in(service, password_of(service));

    cr_assert_eq(PQstatus(conn), CONNECTION_OK, "%s: %s", service, PQerrorMessage(conn));
    return conn;
}

static const char *state_of(PGconn *conn, const char *text)
{
    static char state[6];
    PGresult *result = PQexec(conn, text);
    const char *found = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    snprintf(state, sizeof(state), "%s", found != NULL ? found : "00000");
    PQclear(result);
    return state;
}

/* Rolls the statement back, whatever it has done. */
static const char *state_of_attempt(PGconn *conn, const char *text)
{
    const char *state;

    PQclear(PQexec(conn, "BEGIN"));
    state = state_of(conn, text);
    PQclear(PQexec(conn, "ROLLBACK"));
    return state;
}

static void expect_denied(PGconn *conn, const char *service, const char *text)
{
    cr_expect_str_eq(state_of_attempt(conn, text), "42501", "%s: %s", service, text);
}

Test(roles, have_passwords_of_their_own)
{
    for (size_t i = 0; i < N_SERVICES; i++) {
        const char *other = services[(i + 1) % N_SERVICES];
        PGconn *conn = sign_in(services[i], password_of(other));

        cr_expect_neq(PQstatus(conn), CONNECTION_OK, "%s by the password of %s", services[i],
                      other);
        PQfinish(conn);
        PQfinish(connected(services[i]));
    }
}

/* -- tables -------------------------------------------------------------------------------------
 */

/* A statement on an existing column, so that only a missing permission can be why it is denied. */
static const char *attempt(const char *verb, const char *relation, const char *column)
{
    if (strcmp(verb, "SELECT") == 0)
        return format("SELECT %s FROM %s LIMIT 1", column, relation);
    if (strcmp(verb, "INSERT") == 0)
        return format("INSERT INTO %s (%s) VALUES (NULL)", relation, column);
    if (strcmp(verb, "UPDATE") == 0)
        return format("UPDATE %s SET %s = NULL", relation, column);
    if (strcmp(verb, "DELETE") == 0)
        return format("DELETE FROM %s", relation);
    return format("TRUNCATE %s", relation);
}

/* Upkeep, or another test, may have dropped a partition since it was listed. */
static bool is_there(const char *relation)
{
    return sql_text("SELECT to_regclass($1)::text", relation, NULL) != NULL;
}

static int try_relation(PGconn *conn, const char *service, const char *relation, const char *column)
{
    static const char *const verbs[] = {"SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE"};
    const char *text, *state;
    int n = 0;

    for (size_t v = 0; v < ARRAY_SIZE(verbs); v++) {
        if (!is_forbidden(service, relation, verbs[v]))
            continue;
        text = attempt(verbs[v], relation, column);
        state = state_of_attempt(conn, text);
        if (strcmp(state, "42P01") == 0 && !is_there(relation))
            break;
        /* No role can truncate a view, nor change one that is more than a part of a table. */
        cr_expect(strcmp(state, "42501") == 0 ||
                      (strcmp(verbs[v], "SELECT") != 0 && strcmp(state, "55000") == 0) ||
                      (strcmp(verbs[v], "TRUNCATE") == 0 && strcmp(state, "42809") == 0),
                  "%s: %s: %s", service, text, state);
        n++;
    }
    return n;
}

/* Every table, partition and view of our schemas, with its first column. */
static PGresult *relations(void)
{
    PGconn *conn = PQconnectdb(stack_setting("DATABASE_URL"));
    PGresult *result = PQexec(
        conn, "SELECT n.nspname || '.' || c.relname, quote_ident(a.attname)"
              " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
              " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = 1"
              " WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname !~ '^(pg_|information_)'"
              " ORDER BY 1");

    cr_assert_eq(PQresultStatus(result), PGRES_TUPLES_OK);
    PQfinish(conn);
    return result;
}

Test(roles, can_access_only_their_own_and_listed_tables)
{
    PGresult *all = relations();
    int n = 0;

    cr_assert_gt(PQntuples(all), 15);
    for (size_t s = 0; s < N_SERVICES; s++) {
        PGconn *conn = connected(services[s]);

        for (int row = 0; row < PQntuples(all); row++)
            n += try_relation(conn, services[s], PQgetvalue(all, row, 0), PQgetvalue(all, row, 1));
        PQfinish(conn);
    }
    PQclear(all);
    cr_expect_gt(n, 300);
    fprintf(stderr, "%d attempts were refused\n", n);
}

/* An advisory lock of that name would be everybody's to take. */
Test(roles, take_no_lock_that_is_another_services)
{
    static const char *const locks[][2] = {{"audit", "audit.sealing"},
                                           {"webhook", "webhook.queue_turn"},
                                           {"access", "access.usage_turn"},
                                           {"the owner", "audit.partitioning"},
                                           {"the owner", "webhook.partitioning"}};

    for (size_t s = 0; s < N_SERVICES; s++) {
        PGconn *conn = connected(services[s]);

        for (size_t i = 0; i < ARRAY_SIZE(locks); i++) {
            if (strcmp(services[s], locks[i][0]) == 0)
                continue;
            expect_denied(conn, services[s],
                          format("LOCK TABLE %s IN ACCESS SHARE MODE", locks[i][1]));
            expect_denied(conn, services[s],
                          format("LOCK TABLE %s IN EXCLUSIVE MODE", locks[i][1]));
        }
        expect_denied(conn, services[s],
                      strcmp(services[s], "audit") == 0 ? "SELECT webhook.lock_queue()"
                                                        : "SELECT audit.lock_sealing()");
        PQfinish(conn);
    }
}

/* The sequences that a service may use and the SECURITY DEFINER functions, which run as the
   administrator, that it may call: in its own schema ($1 true) or in others. Leaves out
   end_hung_sessions(), which all services may call, and cell.expire(), which audit may. */
static const char of_others[] =
    "SELECT format('%s: %s.%s', r.rolname, n.nspname, o.name)"
    "  FROM (SELECT relnamespace AS schema, relname AS name, oid, true AS is_sequence"
    "          FROM pg_class WHERE relkind = 'S'"
    "         UNION ALL SELECT pronamespace, proname, oid, false FROM pg_proc WHERE prosecdef) o"
    "  JOIN pg_namespace n ON n.oid = o.schema, pg_roles r"
    " WHERE r.rolname LIKE 'conv\\_%' AND has_schema_privilege(r.oid, n.oid, 'USAGE')"
    "   AND CASE WHEN o.is_sequence THEN has_sequence_privilege(r.oid, o.oid, 'USAGE, UPDATE')"
    "            ELSE has_function_privilege(r.oid, o.oid, 'EXECUTE') END"
    "   AND (n.nspname, o.name) <> ('migration', 'end_hung_sessions')"
    "   AND (r.rolname, n.nspname, o.name) <> ('conv_audit', 'cell', 'expire')"
    "   AND (r.rolname = 'conv_' || n.nspname) = $1::boolean";

Test(roles, use_no_sequence_and_no_function_of_the_administrator_but_their_own)
{
    for (int is_own = 0; is_own < 2; is_own++) {
        PGconn *conn = PQconnectdb(stack_setting("DATABASE_URL"));
        PGresult *result =
            PQexecParams(conn, of_others, 1, NULL, (const char *const[]){is_own ? "true" : "false"},
                         NULL, NULL, 0);

        cr_assert_eq(PQresultStatus(result), PGRES_TUPLES_OK, "%s", PQerrorMessage(conn));
        for (int row = 0; !is_own && row < PQntuples(result); row++)
            cr_expect_fail("%s", PQgetvalue(result, row, 0));
        cr_expect(!is_own || PQntuples(result) > 5);
        PQclear(result);
        PQfinish(conn);
    }
}

/* -- everything else ----------------------------------------------------------------------------
 */

static const char *const forbidden[] = {
    "CREATE SCHEMA x",
    "CREATE TEMPORARY TABLE x (y int)",
    "CREATE ROLE x",
    "DROP TABLE audit.entries",
    "ALTER TABLE audit.entries DISABLE TRIGGER ALL",
    "DROP SCHEMA conversation CASCADE",
    "SET ROLE admin",
    "SET SESSION AUTHORIZATION admin",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "COPY (SELECT 1) TO '/tmp/x'",
    "SELECT pg_read_file('postgresql.conf')",
    "SELECT rolpassword FROM pg_authid",
};

static void try_schema(PGconn *conn, const char *service, const char *schema)
{
    expect_denied(conn, service, format("CREATE TABLE %s.x (y int)", schema));
    expect_denied(conn, service,
                  format("CREATE FUNCTION %s.x() RETURNS int LANGUAGE sql AS 'SELECT 1'", schema));
}

Test(roles, make_drop_and_take_over_nothing)
{
    for (size_t s = 0; s < N_SERVICES; s++) {
        PGconn *conn = connected(services[s]);

        for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
            expect_denied(conn, services[s], forbidden[i]);
        for (size_t o = 0; o < N_SERVICES; o++) {
            if (strcmp(services[o], "search") != 0) /* it has no schema */
                try_schema(conn, services[s], services[o]);
            if (o != s)
                expect_denied(conn, services[s], format("SET ROLE conv_%s", services[o]));
        }
        try_schema(conn, services[s], "cell");
        try_schema(conn, services[s], "public");
        /* These cannot run in a transaction. */
        cr_expect_str_eq(state_of(conn, "CREATE DATABASE x"), "42501", "%s", services[s]);
        cr_expect_str_eq(state_of(conn, "ALTER SYSTEM SET fsync = off"), "42501", "%s",
                         services[s]);
        PQfinish(conn);
    }
}

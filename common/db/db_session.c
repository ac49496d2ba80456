#include "common/db/db_session.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/str.h"
#include "common/crypto/certificates.h"

enum { STATEMENT_MS = 10 * 1000 };

/* How soon the server notices that we are gone. That matters while a statement waits for a lock, and
   between two statements, where the session of a lost machine would otherwise keep the locks of its
   open transaction for hours. tcp_user_timeout decides, also between statements, whatever the number
   of probes: at 9 s, after two unanswered probes. At 5 s, one late answer on a busy machine would end
   a healthy link. */
#define CONNECTION_CHECK_MS "1000"
#define LOSS_OPTIONS                                                                               \
    "-c client_connection_check_interval=" CONNECTION_CHECK_MS                                     \
    " -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"             \
    " -c tcp_user_timeout=" LINK_USER_TIMEOUT_MS

/* Dropped by a pooler, like whatever else we set at login. No server knows the name, so only we set
   it. */
#define MARK "conversations.session"

enum rule { MUST_BE, MUST_NOT_BE, AS_MIN };

struct need {
    const char *setting, *value;
    enum rule rule;
    bool is_set; /* by us, at login */
    const char *objection, *advice;
};

#define SET_TO(setting, value)                                                                     \
    {                                                                                              \
        setting, value, MUST_BE, true, "the database does not keep the setting " setting,          \
            "connect to the server itself"                                                         \
    }

/* Not listed, because no statement of ours depends on them: search_path and collations (statements
   name schemas, and compared text has COLLATE "C"), extra_float_digits (no column is a
   floating-point number), transform_null_equals (none compares with a written NULL). */
static const struct need needs[] = {
    {"server_version_num", "150000", AS_MIN, false,
     "the database's server is older than PostgreSQL 15", "upgrade it"},
    /* Otherwise text that clients may send cannot be stored. */
    {"server_encoding", "UTF8", MUST_BE, false, "the database's encoding is not UTF8",
     "make the database again: CREATE DATABASE ... ENCODING 'UTF8' LOCALE 'C.UTF-8' "
     "TEMPLATE template0"},
    /* Otherwise a commit that was answered may be lost. */
    {"synchronous_commit", "off", MUST_NOT_BE, false, "the database's synchronous_commit is off",
     "reset it for the server, the database and the role"},
    /* Otherwise triggers and foreign keys have no effect. We cannot set it: that takes a
       superuser. */
    {"session_replication_role", "origin", MUST_BE, false,
     "the database's session_replication_role is not origin",
     "reset it for the server, the database and the role"},
    /* A day that is added to a time may have 23 hours elsewhere. */
    SET_TO("TimeZone", "UTC"),
    /* cell.sum_rows() compares rows as text between two databases. */
    SET_TO("DateStyle", "ISO, MDY"),
    SET_TO("IntervalStyle", "postgres"),
    SET_TO("bytea_output", "hex"),
    /* Functions have patterns with a backslash. */
    SET_TO("standard_conforming_strings", "on"),
    /* Arrays that we send as text have NULLs. */
    SET_TO("array_nulls", "on"),
    /* Off, it refuses the audit log's entries. */
    SET_TO("row_security", "on"),
    /* Batches wait for rows that others change, and then see the change. */
    SET_TO("default_transaction_isolation", "read committed"),
};

/* " -c NAME=VALUE", in which a blank is escaped. */
static void add_setting(FILE *to, const struct need *need)
{
    (void)fprintf(to, " -c %s=", need->setting);
    for (const char *p = need->value; *p != '\0'; p++)
        (void)fprintf(to, "%s%c", *p == ' ' ? "\\" : "", *p);
}

static int statement_ms(const struct db_options *timeouts)
{
    return timeouts->statement_ms > 0 ? timeouts->statement_ms : STATEMENT_MS;
}

static void add_timeouts(FILE *to, const struct db_options *timeouts)
{
    (void)fprintf(to, " -c lock_timeout=%d -c statement_timeout=%d", timeouts->lock_ms,
                  statement_ms(timeouts));
}

char *db_session_options(const char *url, const struct db_options *timeouts)
{
    PQconninfoOption *parsed = PQconninfoParse(url, NULL);
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    must(parsed != NULL && to != NULL);
    (void)fputs(LOSS_OPTIONS, to);
    if (timeouts != NULL)
        add_timeouts(to, timeouts);
    for (const PQconninfoOption *at = parsed; at->keyword != NULL; at++)
        if (strcmp(at->keyword, "options") == 0 && at->val != NULL)
            (void)fprintf(to, " %s", at->val);
    for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
        if (needs[i].is_set)
            add_setting(to, &needs[i]);
    (void)fputs(" -c " MARK "=kept", to);
    must(fclose(to) == 0);
    PQconninfoFree(parsed);
    return text;
}

char *db_session_local(const struct db_options *timeouts)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    must(to != NULL);
    (void)fprintf(
        to,
        "SELECT concat(set_config('client_connection_check_interval', '" CONNECTION_CHECK_MS
        "', true),"
        " set_config('lock_timeout', '%d', true),"
        " set_config('statement_timeout', '%d', true)",
        timeouts->lock_ms, statement_ms(timeouts));
    for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
        if (needs[i].is_set)
            (void)fprintf(to, ", set_config('%s', '%s', true)", needs[i].setting, needs[i].value);
    (void)fputs(") AS " DB_SESSION_SET, to);
    must(fclose(to) == 0);
    return text;
}

/* -- after login ------------------------------------------------------------------------------ */

/* Columns of the query before those of needs[]. */
enum { HAS_MARK, HAS_STATEMENT, FIRST_SETTING };

char *db_session_query(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);

    must(to != NULL);
    (void)fputs("SELECT current_setting('" MARK "', true) IS NOT NULL, EXISTS (SELECT"
                " FROM pg_prepared_statements WHERE name = '" DB_SESSION_STATEMENT "')",
                to);
    for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
        (void)fprintf(to, ", current_setting('%s')", needs[i].setting);
    must(fclose(to) == 0);
    return text;
}

static const char no_session[] = "there is a pooler between the program and the database",
                  no_statements[] =
                      "the pooler in front of the database does not keep prepared statements",
                  no_options[] =
                      "the pooler in front of the database refuses the settings of a session";

const char *db_session_pooler_fault(const char *sqlstate, const char *message)
{
    /* PgBouncer's words, of all versions. */
    if (strstr(message, "unsupported startup parameter") != NULL)
        return no_options;
    /* duplicate_prepared_statement: a new session has none. */
    if (sqlstate != NULL && strcmp(sqlstate, "42P05") == 0)
        return no_statements;
    return NULL;
}

static bool is_true(const PGresult *row, int column)
{
    return strcmp(PQgetvalue(row, 0, column), "t") == 0;
}

/* A pooler that keeps track of prepared statements gives them names of its own. */
static const char *objection_to_pooler(const PGresult *row, bool *is_pooled,
                                       char why[DB_SESSION_WHY])
{
    if (is_pooled == NULL) {
        (void)snprintf(why, DB_SESSION_WHY, "%s: connect to the server itself", no_session);
        return no_session;
    }
    if (is_true(row, HAS_STATEMENT)) {
        (void)snprintf(why, DB_SESSION_WHY,
                       "%s: use PgBouncer 1.21 or later, with pool_mode=transaction and a "
                       "max_prepared_statements above 0",
                       no_statements);
        return no_statements;
    }
    return NULL;
}

static bool is_met(const struct need *need, const char *value)
{
    if (need->rule == AS_MIN)
        return strtol(value, NULL, 10) >= strtol(need->value, NULL, 10);
    return (strcmp(value, need->value) == 0) == (need->rule == MUST_BE);
}

static const char *objection_to_settings(const PGresult *row, bool is_pooled,
                                         char why[DB_SESSION_WHY])
{
    for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
        const char *value = PQgetvalue(row, 0, FIRST_SETTING + (int)i);

        if ((is_pooled && needs[i].is_set) || is_met(&needs[i], value))
            continue;
        (void)snprintf(why, DB_SESSION_WHY, "%s: %s is %s; %s", needs[i].objection,
                       needs[i].setting, value, needs[i].advice);
        return needs[i].objection;
    }
    return NULL;
}

const char *db_session_objection(const PGresult *row, bool *is_pooled, char why[DB_SESSION_WHY])
{
    const char *objection = NULL;
    bool has_pooler;

    if (PQntuples(row) != 1 || PQnfields(row) != FIRST_SETTING + (int)ARRAY_SIZE(needs)) {
        (void)snprintf(why, DB_SESSION_WHY, "the row of settings has another form");
        return "the database does not tell its settings";
    }
    has_pooler = !is_true(row, HAS_MARK);
    if (has_pooler)
        objection = objection_to_pooler(row, is_pooled, why);
    if (is_pooled != NULL)
        *is_pooled = has_pooler;
    return objection != NULL ? objection : objection_to_settings(row, has_pooler, why);
}

/* -- certificates ------------------------------------------------------------------------------ */

void db_session_show_certificates(PGconn *conn)
{
    PQconninfoOption *options;

    if (PQsslInUse(conn) == 0)
        return;
    certificates_show_peer("postgresql", PQsslStruct(conn, "OpenSSL"));
    options = PQconninfo(conn);
    for (PQconninfoOption *at = options; at != NULL && at->keyword != NULL; at++) {
        if (strcmp(at->keyword, "sslrootcert") == 0)
            certificates_watch("postgresql_authorities", at->val);
        else if (strcmp(at->keyword, "sslcert") == 0)
            certificates_watch("postgresql_client", at->val);
    }
    PQconninfoFree(options);
}

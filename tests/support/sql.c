#include "tests/support/sql.h"

#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/never_free.h"
#include "tests/support/stack.h"

enum { PARAMETERS_MAX = 8 };

static PGconn *connection;

static PGconn *connected(void)
{
    if (connection == NULL)
        connection = PQconnectdb(stack_setting("DATABASE_URL"));
    else if (PQstatus(connection) != CONNECTION_OK)
        PQreset(connection);
    cr_assert_eq(PQstatus(connection), CONNECTION_OK, "%s", PQerrorMessage(connection));
    return connection;
}

/* The result of a statement that must succeed; PQclear() it. */
static PGresult *run(const char *text, va_list rest)
{
    const char *values[PARAMETERS_MAX];
    PGresult *result;
    int n = 0;

    for (const char *v = va_arg(rest, const char *); v != NULL; v = va_arg(rest, const char *)) {
        cr_assert_lt(n, PARAMETERS_MAX);
        values[n++] = v;
    }
    result = PQexecParams(connected(), text, n, NULL, values, NULL, NULL, 0);
    if (PQstatus(connection) != CONNECTION_OK) {
        /* A test has killed the server since the last query. */
        PQclear(result);
        result = PQexecParams(connected(), text, n, NULL, values, NULL, NULL, 0);
    }
    cr_assert_eq(PQresultStatus(result), PGRES_TUPLES_OK, "%s: %s", text,
                 PQresultErrorMessage(result));
    return result;
}

static bool has_value(const PGresult *result)
{
    return PQntuples(result) > 0 && !PQgetisnull(result, 0, 0);
}

int64_t sql_integer(const char *text, ...)
{
    PGresult *result;
    int64_t integer;
    va_list rest;

    va_start(rest, text);
    result = run(text, rest);
    va_end(rest);
    cr_assert(has_value(result), "%s: nothing came back", text);
    integer = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return integer;
}

const char *sql_text(const char *text, ...)
{
    PGresult *result;
    va_list rest;

    va_start(rest, text);
    result = never_free(run(text, rest));
    va_end(rest);
    return has_value(result) ? PQgetvalue(result, 0, 0) : NULL;
}

const char *sql_state_as(const char *role, const char *text)
{
    static char state[6];
    PGconn *conn = connected();
    PGresult *result;
    const char *found;

    if (role != NULL) {
        char *quoted = PQescapeIdentifier(conn, role, strlen(role));
        char set[256];

        snprintf(set, sizeof(set), "SET ROLE %s", quoted);
        PQclear(PQexec(conn, set));
        PQfreemem(quoted);
    }
    result = PQexec(conn, text);
    found = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    snprintf(state, sizeof(state), "%s", found != NULL ? found : "00000");
    PQclear(result);
    PQclear(PQexec(conn, "RESET ROLE"));
    return state;
}

#include "common/db/db_admin.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/db/db_link.h"
#include "common/db/db_session.h"
#include "common/db/db_url.h"

struct db_admin {
    PGconn *link;
    PGresult *result;
    char sqlstate[6];
    char error[512];
};

/* Notices ("already exists, skipping") are expected here. */
static void on_notice(void *closure, const char *message)
{
}

static void copy_line(char *to, size_t capacity, const char *text)
{
    size_t n = strcspn(text, "\n");

    snprintf(to, capacity, "%.*s", (int)n, text);
}

/* libpq writes a line for each address that it tried, and hints, which begin with a tab. */
static void copy_reasons(char to[DB_ADMIN_WHY], const char *text)
{
    size_t used = 0, n;

    to[0] = '\0';
    for (; *text != '\0'; text += n + (text[n] != '\0')) {
        n = strcspn(text, "\n");
        if (text[0] != '\t')
            snprintf(to + used, DB_ADMIN_WHY - used, "%s%.*s", used > 0 ? "; " : "", (int)n, text);
        used = strlen(to);
    }
}

/* ST_UNAVAILABLE: the link was lost. */
static enum status check_session(PGconn *link, char error[DB_ADMIN_WHY])
{
    char *query = db_session_query();
    PGresult *row = PQexec(link, query);
    enum status st = ST_UNAVAILABLE;

    free(query);
    if (PQresultStatus(row) == PGRES_TUPLES_OK)
        st = db_session_objection(row, error) == NULL ? ST_OK : ST_INTERNAL;
    PQclear(row);
    return st;
}

static PGconn *connect_to(const char *url, const char *name, int timeout_s)
{
    char timeout[16], *options = db_session_options(url, NULL);
    /* Keys before dbname: the URL overrides them. */
    const char *keys[] = {LINK_LOSS_KEYS,    "target_session_attrs", "dbname",  "application_name",
                          "connect_timeout", "client_encoding",      "options", NULL};
    const char *values[] = {LINK_LOSS_VALUES, "read-write", url,     name,
                            timeout,          "UTF8",       options, NULL};
    PGconn *link;

    snprintf(timeout, sizeof(timeout), "%d", timeout_s);
    link = PQconnectdbParams(keys, values, 1);
    must(link != NULL);
    free(options);
    return link;
}

enum status db_admin_open(const char *url, const char *name, int timeout_s, struct db_admin **out,
                          char error[DB_ADMIN_WHY])
{
    const char *fault = db_url_fault(url);
    struct db_admin *admin;
    PGconn *link;
    enum status st;

    if (fault != NULL) {
        snprintf(error, DB_ADMIN_WHY, "the URL %s", fault);
        return ST_INTERNAL;
    }
    link = connect_to(url, name, timeout_s);
    st = PQstatus(link) == CONNECTION_OK ? check_session(link, error) : ST_UNAVAILABLE;
    if (st == ST_UNAVAILABLE)
        copy_reasons(error, PQerrorMessage(link));
    if (st != ST_OK) {
        PQfinish(link);
        return st;
    }
    PQsetNoticeProcessor(link, on_notice, NULL);

    admin = heap_zeroed(1, sizeof(*admin));
    admin->link = link;
    *out = admin;
    return ST_OK;
}

void db_admin_free(struct db_admin *admin)
{
    if (admin == NULL)
        return;
    PQclear(admin->result);
    PQfinish(admin->link);
    free(admin);
}

static enum status keep_result(struct db_admin *admin, PGresult *result)
{
    ExecStatusType ended = PQresultStatus(result);
    const char *sqlstate;

    PQclear(admin->result);
    admin->result = result;
    admin->sqlstate[0] = '\0';
    admin->error[0] = '\0';
    if (ended == PGRES_COMMAND_OK || ended == PGRES_TUPLES_OK || ended == PGRES_EMPTY_QUERY)
        return ST_OK;

    sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    snprintf(admin->sqlstate, sizeof(admin->sqlstate), "%s", sqlstate != NULL ? sqlstate : "");
    copy_line(admin->error, sizeof(admin->error), PQerrorMessage(admin->link));
    return PQstatus(admin->link) == CONNECTION_OK ? ST_INTERNAL : ST_UNAVAILABLE;
}

enum status db_admin_script(struct db_admin *admin, const char *text)
{
    return keep_result(admin, PQexec(admin->link, text));
}

enum status db_admin_send(struct db_admin *admin, const struct db_statement *statement,
                          const char *const *params, size_t n)
{
    if (PQsendQueryParams(admin->link, statement->text, (int)n, NULL, params, NULL, NULL,
                          0 /* as text */) != 1)
        return keep_result(admin, NULL);
    return ST_OK;
}

enum status db_admin_receive(struct db_admin *admin, const struct db_statement *statement)
{
    enum status st = keep_result(admin, PQgetResult(admin->link));

    PQclear(PQgetResult(admin->link)); /* NULL: the end of the only statement */
    if (st == ST_OK && !db_columns_are(admin->result, statement->columns, admin->error))
        return ST_INTERNAL;
    return st;
}

enum status db_admin_query(struct db_admin *admin, const struct db_statement *statement,
                           const char *const *params, size_t n)
{
    enum status st = db_admin_send(admin, statement, params, n);

    return st == ST_OK ? db_admin_receive(admin, statement) : st;
}

size_t db_admin_rows(const struct db_admin *admin)
{
    return (size_t)PQntuples(admin->result);
}

const char *db_admin_value(const struct db_admin *admin, size_t row, int column)
{
    if (PQgetisnull(admin->result, (int)row, column))
        return NULL;
    return PQgetvalue(admin->result, (int)row, column);
}

const char *db_admin_error(const struct db_admin *admin)
{
    return admin->error;
}

const char *db_admin_sqlstate(const struct db_admin *admin)
{
    return admin->sqlstate;
}

char *db_admin_verifier(struct db_admin *admin, const char *role, const char *password)
{
    char *made = PQencryptPasswordConn(admin->link, password, role, "scram-sha-256");
    char *copy;

    if (made == NULL) {
        copy_line(admin->error, sizeof(admin->error), PQerrorMessage(admin->link));
        return NULL;
    }
    copy = strdup(made);
    must(copy != NULL);
    PQfreemem(made);
    return copy;
}

#include "common/db/db_admin.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/db_link.h"
#include "common/db/db_session.h"
#include "common/db/db_url.h"

struct db_admin {
    PGconn *link;
    PGresult *result;
    bool is_at_end; /* of the rows that it copies out */
    int limit_ms;   /* 0 = none */
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
        st = db_session_objection(row, NULL, error) == NULL ? ST_OK : ST_INTERNAL;
    PQclear(row);
    return st;
}

/* `replication`: NULL, or libpq's value of the key. */
static PGconn *connect_to(const char *url, const char *name, int timeout_s, const char *replication)
{
    char timeout[16], *options = db_session_options(url, NULL);
    /* Keys before dbname: the URL overrides them. */
    const char *keys[] = {LINK_LOSS_KEYS,     "target_session_attrs", "dbname",
                          "application_name", "connect_timeout",      "client_encoding",
                          "options",          "replication",          NULL};
    const char *values[] = {LINK_LOSS_VALUES, "read-write", url,         name, timeout,
                            "UTF8",           options,      replication, NULL};
    PGconn *link;

    snprintf(timeout, sizeof(timeout), "%d", timeout_s);
    link = PQconnectdbParams(keys, values, 1);
    must(link != NULL);
    free(options);
    return link;
}

static enum status open_as(const char *url, const char *name, int timeout_s,
                           const char *replication, struct db_admin **out, char error[DB_ADMIN_WHY])
{
    const char *fault = db_url_fault(url);
    struct db_admin *admin;
    PGconn *link;
    enum status st;

    if (fault != NULL) {
        snprintf(error, DB_ADMIN_WHY, "the URL %s", fault);
        return ST_INTERNAL;
    }
    link = connect_to(url, name, timeout_s, replication);
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

enum status db_admin_open(const char *url, const char *name, int timeout_s, struct db_admin **out,
                          char error[DB_ADMIN_WHY])
{
    return open_as(url, name, timeout_s, NULL, out, error);
}

enum status db_admin_open_sender(const char *url, const char *name, int timeout_s,
                                 struct db_admin **out, char error[DB_ADMIN_WHY])
{
    return open_as(url, name, timeout_s, "database", out, error);
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

/* Waits until there is more from the server, the link is lost, or `until_us`, if not 0. */
static void await_input(struct db_admin *admin, int64_t until_us)
{
    const int64_t left_us = until_us - clock_mono_us();
    struct pollfd input = {.fd = PQsocket(admin->link), .events = POLLIN};

    (void)poll(&input, 1, until_us == 0 ? -1 : left_us > 0 ? (int)(left_us / 1000) + 1 : 0);
}

/* False: it has not come by then. True: PQgetResult() does not wait, or the link is lost. */
static bool await_result(struct db_admin *admin, int64_t until_us)
{
    while (PQisBusy(admin->link) && (until_us == 0 || clock_mono_us() < until_us)) {
        await_input(admin, until_us);
        if (PQconsumeInput(admin->link) == 0)
            return true;
    }
    return !PQisBusy(admin->link);
}

/* The last result of what was sent, as PQexec() has it. */
static enum status receive(struct db_admin *admin)
{
    const int64_t until_us =
        admin->limit_ms > 0 ? clock_mono_us() + admin->limit_ms * INT64_C(1000) : 0;
    PGresult *last = NULL, *next;

    while (await_result(admin, until_us)) {
        next = PQgetResult(admin->link);
        if (next == NULL)
            return keep_result(admin, last);
        PQclear(last);
        last = next;
    }
    PQclear(last);
    (void)keep_result(admin, NULL);
    snprintf(admin->error, sizeof(admin->error), "the server has not answered for %d seconds",
             admin->limit_ms / 1000);
    return ST_UNAVAILABLE;
}

void db_admin_limit(struct db_admin *admin, int limit_ms)
{
    admin->limit_ms = limit_ms;
}

enum status db_admin_script(struct db_admin *admin, const char *text)
{
    return PQsendQuery(admin->link, text) == 1 ? receive(admin) : keep_result(admin, NULL);
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
    const enum status st = receive(admin);

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

/* -- copying ---------------------------------------------------------------------------------- */

/* The result of a COPY that has ended. */
static enum status end_copy(struct db_admin *admin)
{
    enum status st = keep_result(admin, PQgetResult(admin->link));

    PQclear(PQgetResult(admin->link)); /* NULL: the end of the only statement */
    return st;
}

/* Unlike keep_result(), takes a COPY that has begun for a success. */
static enum status begin_copy(struct db_admin *admin, const char *text, ExecStatusType expected)
{
    PGresult *begun = PQexec(admin->link, text);

    if (PQresultStatus(begun) != expected)
        return keep_result(admin, begun);
    PQclear(begun);
    return ST_OK;
}

enum status db_admin_copy_begin(struct db_admin *from, const char *copy_out)
{
    from->is_at_end = false;
    return begin_copy(from, copy_out, PGRES_COPY_OUT);
}

/* *row is NULL at the end, or if there is none until `until_us` (0: waits for it). */
static enum status next_row(struct db_admin *from, int64_t until_us, char **row, int *n)
{
    *row = NULL;
    while (!from->is_at_end) {
        *n = PQgetCopyData(from->link, row, 1 /* does not wait */);
        if (*n > 0)
            return ST_OK;
        if (*n == 0 && until_us != 0 && clock_mono_us() >= until_us)
            return ST_OK;
        if (*n == 0)
            await_input(from, until_us);
        from->is_at_end = *n < 0 || PQconsumeInput(from->link) == 0;
        if (from->is_at_end)
            return end_copy(from);
    }
    return ST_OK;
}

enum status db_admin_copy(struct db_admin *from, struct db_admin *to, const char *copy_in,
                          size_t rows_max, int64_t span_us, size_t *rows, struct db_admin **failed)
{
    char *row;
    int n = 0;
    enum status st = next_row(from, 0, &row, &n), ended;
    const int64_t until_us = clock_mono_us() + span_us;

    *rows = 0;
    *failed = from;
    if (st != ST_OK || row == NULL)
        return st;
    *failed = to;
    st = begin_copy(to, copy_in, PGRES_COPY_IN);
    if (st != ST_OK) {
        PQfreemem(row);
        return st;
    }
    do {
        /* If the server has failed, the end of the COPY says so. */
        (void)PQputCopyData(to->link, row, n);
        PQfreemem(row);
        row = NULL;
        if (++*rows < rows_max && clock_mono_us() < until_us)
            st = next_row(from, until_us, &row, &n);
    } while (row != NULL);
    (void)PQputCopyEnd(to->link, st == ST_OK ? NULL : "the other server failed");
    ended = end_copy(to);
    if (st == ST_OK)
        return ended;
    *failed = from;
    return st;
}

/* -- results ---------------------------------------------------------------------------------- */

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

#include "common/db/batch.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/db/sqlstate.h"

void batch_clear(struct batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        PQclear(batch->entries[i].result);
    batch->n = batch->n_collected = 0;
    batch->failed = ST_OK;
    batch->failed_statement = -1;
    batch->sqlstate[0] = '\0';
}

void batch_release(struct batch *batch)
{
    batch_clear(batch);
    free(batch->entries);
    free(batch->text);
    free(batch->values);
}

void batch_fail(struct batch *batch, enum status st)
{
    if (batch->failed == ST_OK)
        batch->failed = st;
}

static const char *statement_name(const struct batch *batch, int statement)
{
    const struct db_options *options = &batch->link->options;

    return (size_t)statement < options->n_statements ? options->statements[statement].name
                                                     : LINK_ROLLBACK;
}

/* -- sending --------------------------------------------------------------------------------- */

static void *grown(void *p, size_t *room, size_t need, size_t size)
{
    if (need <= *room)
        return p;
    *room = need * 2;
    p = reallocarray(p, *room, size);
    must(p != NULL);
    return p;
}

/* libpq wants C strings. False: a value holds a NUL and cannot be one. */
static bool copy_params(struct batch *batch, const db_param *params, size_t n)
{
    size_t need = 0;
    char *to;

    for (size_t i = 0; i < n; i++)
        need += params[i].n + 1;
    batch->text = grown(batch->text, &batch->text_room, need, 1);
    batch->values = grown(batch->values, &batch->values_room, n, sizeof(*batch->values));

    to = batch->text;
    for (size_t i = 0; i < n; i++) {
        if (params[i].n > 0 && memchr(params[i].p, '\0', params[i].n))
            return false;
        batch->values[i] = params[i].p ? to : NULL;
        if (params[i].n > 0)
            memcpy(to, params[i].p, params[i].n);
        to += params[i].n;
        *to++ = '\0';
    }
    return true;
}

void batch_send(struct batch *batch, int statement, const db_param *params, size_t n)
{
    const char *name = statement_name(batch, statement);

    if (batch->failed != ST_OK)
        return;
    if (!copy_params(batch, params, n)) {
        LOG(LOG_ERROR, "parameter holds a NUL", log_str("statement", name));
        batch_fail(batch, ST_INTERNAL);
        return;
    }
    batch->entries = grown(batch->entries, &batch->room, batch->n + 1, sizeof(*batch->entries));
    if (PQsendQueryPrepared(batch->link->conn, name, (int)n, batch->values, NULL, NULL, 0)) {
        batch->entries[batch->n++] = (struct batch_entry){.statement = statement};
    } else {
        batch->link->is_dead = true;
        batch_fail(batch, ST_UNAVAILABLE);
    }
}

/* -- receiving ------------------------------------------------------------------------------- */

/* Whether the server sent this error and lives on. */
static bool is_plain_error(const PGresult *result)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);

    return severity && strcmp(severity, "ERROR") == 0;
}

/* The server's own error about a statement of the batch, or, with -1, about the commit. Its text
   may quote a customer's data and stays out of our log; the server's log has it. */
static void note_error(struct batch *batch, int statement, const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    enum status st = is_plain_error(result) ? sqlstate_status(sqlstate) : ST_UNAVAILABLE;

    if (batch->failed != ST_OK)
        return;
    batch_fail(batch, st);
    batch->failed_statement = statement;
    memcpy(batch->sqlstate, sqlstate, strnlen(sqlstate, sizeof(batch->sqlstate) - 1));
    batch->sqlstate[sizeof(batch->sqlstate) - 1] = '\0';
    LOG(st == ST_INTERNAL ? LOG_ERROR
        : st == ST_RETRY  ? LOG_DEBUG
                          : LOG_WARNING,
        "statement failed", log_str("sqlstate", batch->sqlstate),
        log_str("statement", statement < 0 ? "commit" : statement_name(batch, statement)),
        log_str("constraint", PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME)));
}

/* Takes one result of the statement that is being read. False: the link is of no further use,
   because libpq made the error up or because the server said good-bye. */
static bool take(struct batch *batch, PGresult *result)
{
    struct batch_entry *entry = &batch->entries[batch->n_collected];
    ExecStatusType kind = PQresultStatus(result);
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool is_usable = true;

    if (kind == PGRES_COMMAND_OK || kind == PGRES_TUPLES_OK) {
        PQclear(entry->result);
        entry->result = result;
        return true;
    }
    if (kind == PGRES_PIPELINE_ABORTED) {
        batch_fail(batch, ST_UNAVAILABLE); /* if not already, it failed before this batch */
    } else {
        is_usable = sqlstate && !sqlstate_ends_link(sqlstate);
        if (sqlstate)
            note_error(batch, entry->statement, result);
    }
    PQclear(result);
    return is_usable;
}

bool batch_collect(struct batch *batch)
{
    PGresult *result;

    while (batch->n_collected < batch->n) {
        if (db_link_next(batch->link, batch->until_us, &result) != ST_OK)
            return false;
        if (result && !take(batch, result))
            return false;
        if (result)
            continue;
        /* The end of a statement; without a result only after an error. */
        if (batch->failed == ST_OK && !batch->entries[batch->n_collected].result)
            return false;
        batch->n_collected++;
    }
    return true;
}

bool batch_await_sync(struct batch *batch)
{
    ExecStatusType kind = PGRES_EMPTY_QUERY;
    bool is_usable = true;

    while (is_usable && kind != PGRES_PIPELINE_SYNC) {
        PGresult *result;

        if (db_link_next(batch->link, batch->until_us, &result) != ST_OK)
            return false;
        kind = result ? PQresultStatus(result) : PGRES_EMPTY_QUERY;
        if (kind == PGRES_FATAL_ERROR && is_plain_error(result))
            note_error(batch, -1, result);
        else if (kind == PGRES_FATAL_ERROR || batch->link->is_dead)
            is_usable = false; /* its last words prove nothing about the commit */
        PQclear(result);
    }
    return is_usable;
}

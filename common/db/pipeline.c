#include "common/db/pipeline.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/db/sqlstate.h"

void pipeline_clear(struct pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->n; i++)
        PQclear(pipeline->entries[i].result);
    pipeline->n = pipeline->n_collected = 0;
    pipeline->is_lost = false;
    pipeline->bytes = pipeline->bytes_max = 0;
    pipeline->failed = ST_OK;
    pipeline->failed_entry = DB_NO_ENTRY;
    pipeline->failed_statement = -1;
    pipeline->sqlstate[0] = '\0';
}

void pipeline_release(struct pipeline *pipeline)
{
    pipeline_clear(pipeline);
    free(pipeline->entries);
    free(pipeline->text);
}

void pipeline_fail(struct pipeline *pipeline, enum status st)
{
    if (pipeline->failed == ST_OK)
        pipeline->failed = st;
}

static bool is_commit(const struct pipeline *pipeline, const struct pipeline_entry *entry)
{
    return entry->statement == db_link_statement(pipeline->link, LINK_COMMIT);
}

/* -- sending --------------------------------------------------------------------------------- */

static void *grown(void *p, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return p;
    *capacity = need * 2;
    p = reallocarray(p, *capacity, size);
    must(p != NULL);
    return p;
}

/* libpq takes C strings, except for binary values. False: a text contains a NUL, so it cannot be
   passed as one. */
static bool copy_params(struct pipeline *pipeline, const struct params *params)
{
    size_t need = 0;
    char *to;

    for (size_t i = 0; i < params->n; i++)
        need += params->at[i].n + 1;
    pipeline->text = grown(pipeline->text, &pipeline->text_capacity, need, 1);

    to = pipeline->text;
    for (size_t i = 0; i < params->n; i++) {
        const struct str value = params->at[i];
        const bool is_binary = params->binary >> i & 1;

        if (!is_binary && value.n > 0 && memchr(value.p, '\0', value.n) != NULL)
            return false;
        must(value.n <= INT_MAX);
        pipeline->values[i] = value.p != NULL ? to : NULL;
        pipeline->lengths[i] = (int)value.n;
        pipeline->formats[i] = is_binary;
        if (value.p != NULL && value.n > 0)
            memcpy(to, value.p, value.n);
        to += value.n;
        *to++ = '\0';
    }
    return true;
}

void pipeline_send(struct pipeline *pipeline, int statement, const struct params *params,
                   bool has_binary_rows)
{
    static const struct params none;
    const char *name = db_link_statement_name(pipeline->link, statement);

    if (pipeline->failed != ST_OK)
        return;
    if (params == NULL)
        params = &none;
    if (!copy_params(pipeline, params)) {
        LOG(LOG_ERROR, "parameter contains a NUL", log_str("statement", name));
        pipeline_fail(pipeline, ST_INTERNAL);
        return;
    }
    pipeline->entries =
        grown(pipeline->entries, &pipeline->capacity, pipeline->n + 1, sizeof(*pipeline->entries));
    if (PQsendQueryPrepared(pipeline->link->conn, name, (int)params->n, pipeline->values,
                            pipeline->lengths, pipeline->formats, has_binary_rows)) {
        pipeline->entries[pipeline->n++] =
            (struct pipeline_entry){.statement = statement, .bytes_max = pipeline->bytes_max};
    } else {
        pipeline->link->is_dead = true;
        pipeline_fail(pipeline, ST_UNAVAILABLE);
    }
}

/* -- receiving ------------------------------------------------------------------------------- */

/* Not a pooler, which ends our connection for reasons of its own, ahead of results that the server
   has sent or will send: that says nothing about our statements, nor about a COMMIT after them. Only
   the server names the place in its source. */
static bool is_of_server(const PGresult *result)
{
    return PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION) != NULL;
}

/* Whether the server itself sent this error and keeps running. */
static bool is_plain_error(const PGresult *result)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);

    return severity != NULL && strcmp(severity, "ERROR") == 0;
}

/* The columns of a statement have changed since it was prepared: it must be prepared again. The
   error code covers everything that the server does not support; only with this function name does
   it mean the plan. */
static bool is_stale_plan(const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);

    return sqlstate != NULL && strcmp(sqlstate, "0A000") == 0 && function != NULL &&
           strcmp(function, "RevalidateCachedQuery") == 0;
}

static void note_sqlstate(struct pipeline *pipeline, const char *sqlstate)
{
    snprintf(pipeline->sqlstate, sizeof(pipeline->sqlstate), "%s", sqlstate);
}

/* Keeps the server's error about a statement. The text may quote a customer's data and stays out of
   our log; it is in the server's. */
static void note_error(struct pipeline *pipeline, int statement, const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const bool is_judged = is_plain_error(result) && !is_stale_plan(result);
    enum status st = is_judged ? sqlstate_status(sqlstate) : ST_UNAVAILABLE;

    if (pipeline->failed != ST_OK)
        return;
    pipeline_fail(pipeline, st);
    if ((size_t)statement < pipeline->link->options.n_statements) {
        pipeline->failed_statement = statement;
        pipeline->failed_entry = pipeline->n_collected;
    }
    note_sqlstate(pipeline, sqlstate);
    LOG(st == ST_INTERNAL ? LOG_ERROR
        : st == ST_RETRY  ? LOG_DEBUG
                          : LOG_WARNING,
        "statement failed", log_str("sqlstate", pipeline->sqlstate),
        log_str("statement", db_link_statement_name(pipeline->link, statement)),
        log_str("constraint", PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME)));
}

/* It has a result, or had one that was dropped. */
static bool has_result(const struct pipeline_entry *entry)
{
    return entry->result != NULL || entry->dropped > 0;
}

static void keep(struct pipeline *pipeline, struct pipeline_entry *entry, PGresult *result)
{
    const size_t bytes = PQresultMemorySize(result);

    PQclear(entry->result);
    entry->result = NULL;
    if (entry->bytes_max > 0 && bytes > DB_SMALL && pipeline->bytes > entry->bytes_max) {
        entry->dropped = bytes;
        PQclear(result);
        return;
    }
    pipeline->bytes += bytes;
    entry->result = result;
}

/* Takes one result of the statement that is being read. False: the link can no longer be used,
   because libpq itself made the error or the server is ending the connection. */
static bool take(struct pipeline *pipeline, PGresult *result)
{
    struct pipeline_entry *entry = &pipeline->entries[pipeline->n_collected];
    ExecStatusType kind = PQresultStatus(result);
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool is_usable = true;

    if (kind == PGRES_COMMAND_OK || kind == PGRES_TUPLES_OK) {
        keep(pipeline, entry, result);
        return true;
    }
    if (kind == PGRES_PIPELINE_ABORTED) {
        /* No failure yet: a statement before this batch failed. */
        pipeline_fail(pipeline, ST_UNAVAILABLE);
    } else if (sqlstate != NULL && !is_of_server(result)) {
        note_sqlstate(pipeline, sqlstate);
        is_usable = false;
    } else {
        is_usable = sqlstate != NULL && !sqlstate_ends_link(sqlstate) && !is_stale_plan(result);
        /* The last message of a terminating backend proves nothing about a commit. */
        if (sqlstate != NULL && (is_plain_error(result) || !is_commit(pipeline, entry)))
            note_error(pipeline, entry->statement, result);
    }
    PQclear(result);
    return is_usable;
}

/* Reads one result that has arrived. False: the link can no longer be used. */
static bool read_one(struct pipeline *pipeline)
{
    PGresult *result = PQgetResult(pipeline->link->conn);

    if (result != NULL)
        return take(pipeline, result);
    /* The end of a statement, which has no result only after an error. */
    if (pipeline->failed == ST_OK && !has_result(&pipeline->entries[pipeline->n_collected]))
        return false;
    pipeline->n_collected++;
    return true;
}

bool pipeline_read(struct pipeline *pipeline)
{
    while (!pipeline->is_lost && pipeline->n_collected < pipeline->n) {
        if (PQisBusy(pipeline->link->conn)) {
            pipeline->is_lost = pipeline->link->is_dead;
            return pipeline->is_lost;
        }
        pipeline->is_lost = !read_one(pipeline);
    }
    return true;
}

bool pipeline_collect(struct pipeline *pipeline)
{
    while (!pipeline_read(pipeline))
        if (db_link_wait(pipeline->link, pipeline->until_us) != ST_OK)
            return false;
    return !pipeline->is_lost;
}

bool pipeline_await_sync(struct pipeline *pipeline)
{
    ExecStatusType kind = PGRES_EMPTY_QUERY;
    bool is_usable = true;

    while (is_usable && kind != PGRES_PIPELINE_SYNC) {
        PGresult *result;

        if (db_link_next(pipeline->link, pipeline->until_us, &result) != ST_OK)
            return false;
        kind = result != NULL ? PQresultStatus(result) : PGRES_EMPTY_QUERY;
        is_usable = kind != PGRES_FATAL_ERROR && !pipeline->link->is_dead;
        PQclear(result);
    }
    return is_usable;
}

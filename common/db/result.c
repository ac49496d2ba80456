#include "common/db/result.h"

#include <libpq-fe.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/db/db.h"

/* -- error codes ------------------------------------------------------------------------------- */

/* A code, or the first characters of a family of codes. */
struct meaning {
    const char *code;
    enum status status;
    bool ends_link;
};

static const struct meaning meanings[] = {
    {"23505", ST_RETRY, false},       /* unique_violation */
    {"40001", ST_RETRY, false},       /* serialization_failure */
    {"40P01", ST_RETRY, false},       /* deadlock_detected */
    {"55P03", ST_RETRY, false},       /* lock_not_available */
    {"57014", ST_UNAVAILABLE, false}, /* query_canceled: statement_timeout */
    {"53", ST_UNAVAILABLE, false},    /* out of disk, memory or connections */
    {"57P0", ST_UNAVAILABLE, true},   /* shutting down, crashed, starting up, dropped */
    {"08", ST_UNAVAILABLE, true},     /* connection exceptions */
    {"25006", ST_UNAVAILABLE, true},  /* read only: this server is a standby now */
    {"0A000", ST_UNAVAILABLE, true},  /* a cached plan's result type changed: prepare again */
    {"26000", ST_UNAVAILABLE, true},  /* the prepared statement is gone: prepare again */
};

static const struct meaning *meaning_of(const char *sqlstate)
{
    for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
        if (strncmp(sqlstate, meanings[i].code, strlen(meanings[i].code)) == 0)
            return &meanings[i];
    return NULL;
}

enum status sqlstate_status(const char *sqlstate)
{
    const struct meaning *meaning = meaning_of(sqlstate);

    return meaning ? meaning->status : ST_INTERNAL;
}

bool sqlstate_ends_link(const char *sqlstate)
{
    const struct meaning *meaning = meaning_of(sqlstate);

    return meaning && meaning->ends_link;
}

/* -- rows -------------------------------------------------------------------------------------- */

static const PGresult *result_of(const struct db_rows *rows)
{
    return (const PGresult *)rows; /* see db_result() */
}

size_t db_rows_count(const struct db_rows *rows)
{
    return (size_t)PQntuples(result_of(rows));
}

size_t db_rows_affected(const struct db_rows *rows)
{
    /* PQcmdTuples() only reads, but its parameter does not say so. */
    return strtoul(PQcmdTuples((PGresult *)result_of(rows)), NULL, 10);
}

struct str db_value(const struct db_rows *rows, size_t row, int column)
{
    const PGresult *result = result_of(rows);
    int n = PQgetlength(result, (int)row, column); /* 0 for NULL, and outside the result */

    if (n > 0)
        return (struct str){PQgetvalue(result, (int)row, column), (size_t)n};
    must(column >= 0 && column < PQnfields(result));
    if (row >= (size_t)PQntuples(result)) {
        LOG(LOG_ERROR, "a statement returned fewer rows than expected",
            log_int("rows", PQntuples(result)));
        return STR_NONE;
    }
    if (PQgetisnull(result, (int)row, column))
        return STR_NONE;
    return STR("");
}

bool db_value_bool(const struct db_rows *rows, size_t row, int column)
{
    struct str value = db_value(rows, row, column);

    return value.n == 1 && value.p[0] == 't';
}

int64_t db_value_int(const struct db_rows *rows, size_t row, int column)
{
    struct str value = db_value(rows, row, column);

    return value.p ? strtoll(value.p, NULL, 10) : 0;
}

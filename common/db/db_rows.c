#include "common/db/db_rows.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

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

/* 2, 4 or 8 bytes, big-endian. */
static int64_t binary_int(struct str value)
{
    uint64_t bits = value.n > 0 && (value.p[0] & 0x80) != 0 ? UINT64_MAX : 0;

    for (size_t i = 0; i < value.n; i++)
        bits = bits << 8 | (unsigned char)value.p[i];
    return (int64_t)bits;
}

int64_t db_value_int(const struct db_rows *rows, size_t row, int column)
{
    struct str value = db_value(rows, row, column);

    if (value.p == NULL)
        return 0;
    return PQfformat(result_of(rows), column) == 1 ? binary_int(value) : strtoll(value.p, NULL, 10);
}

bool db_value_id(const struct db_rows *rows, size_t row, int column, struct uuid *out)
{
    const struct str value = db_value(rows, row, column);

    if (value.n != sizeof(out->b))
        return false;
    memcpy(out->b, value.p, sizeof(out->b));
    return true;
}

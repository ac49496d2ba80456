/*
 * db_rows - the rows that a statement returned.
 *
 * Owns     Nothing: rows, and the values in them, live as long as their batch's results (db.h).
 * Threads  The db's.
 */
#ifndef COMMON_DB_DB_ROWS_H
#define COMMON_DB_DB_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/str.h"
#include "common/base/uuid.h"

struct db_rows;

size_t db_rows_count(const struct db_rows *rows);
size_t db_rows_affected(const struct db_rows *rows);
/* A value by row and column number; NAME_sql.h has the numbers. STR_NONE for SQL NULL and for a row
   that does not exist (logged). Lives as long as the result. */
struct str db_value(const struct db_rows *rows, size_t row, int column);
bool db_value_bool(const struct db_rows *rows, size_t row, int column);
/* In text or binary format. A time in binary format: microseconds since DB_EPOCH_US. */
int64_t db_value_int(const struct db_rows *rows, size_t row, int column);
/* An id in binary format. False: it is SQL NULL, and *out is unchanged. */
bool db_value_id(const struct db_rows *rows, size_t row, int column, struct uuid *out);

#endif

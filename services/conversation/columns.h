/*
 * columns - values of many requests as the arrays that one statement takes.
 *
 * What     An array in PostgreSQL's text format, element by element. STR_NONE is NULL.
 * Owns     The bytes are the arena's.
 * Threads  One thread at a time.
 */
#ifndef SERVICES_CONVERSATION_COLUMNS_H
#define SERVICES_CONVERSATION_COLUMNS_H

#include "common/base/buf.h"

void column_open(struct buf *column, struct arena *arena, size_t n_values);
void column_add(struct buf *column, struct str value);
struct str column_close(struct buf *column);

#endif

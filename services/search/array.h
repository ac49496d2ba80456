/*
 * array - the text of a PostgreSQL array, for a bound parameter: {"a","b\"c"}.
 *
 * Owns     Nothing: the arena of the buf does.
 * Threads  One thread at a time.
 */
#ifndef SERVICES_SEARCH_ARRAY_H
#define SERVICES_SEARCH_ARRAY_H

#include "common/base/buf.h"

void array_init(struct buf *array, struct arena *arena);
void array_add(struct buf *array, struct str element);
void array_add_int(struct buf *array, int64_t element);
/* The whole of it; nothing can be added behind. */
struct str array_close(struct buf *array);

#endif

/*
 * array - a PostgreSQL array, element by element, for one parameter.
 *
 * What     As text: {1,"a","b\"c",NULL}. Arrays of ids (ids_*) are also there in binary format, which
 *          db_add_binary() wants to be told of: to read an id from text costs the server more than
 *          half a microsecond, and a request has a dozen.
 * Owns     The text lives in the arena.
 * Threads  One thread at a time.
 */
#ifndef COMMON_DB_ARRAY_H
#define COMMON_DB_ARRAY_H

#include "common/base/buf.h"
#include "common/base/uuid.h"

/* `capacity` is a guess at its length in bytes. */
void array_open(struct buf *array, struct arena *arena, size_t capacity);
/* Any text; STR_NONE is NULL. */
void array_add(struct buf *array, struct str text);
/* What needs no quotes: names and hexadecimal digits of ours, numbers as text. */
void array_add_plain(struct buf *array, struct str text);
void array_add_int(struct buf *array, int64_t number);
void array_add_id(struct buf *array, const struct uuid *id);
/* The whole of it; nothing can be added behind. */
struct str array_close(struct buf *array);

/* uuid[] in binary format; `n` is a guess at how many. */
void ids_open(struct buf *ids, struct arena *arena, size_t n);
void ids_add(struct buf *ids, const struct uuid *id); /* NULL is NULL */
/* What is no id, STR_NONE too, is NULL. */
void ids_add_text(struct buf *ids, struct str text);
struct str ids_close(struct buf *ids);

#endif

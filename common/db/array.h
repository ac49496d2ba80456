/*
 * array - the text of a PostgreSQL array, element by element, for one parameter:
 * {1,"a","b\"c",NULL}.
 *
 * Owns     The text lives in the arena.
 * Threads  One thread at a time.
 */
#ifndef COMMON_DB_ARRAY_H
#define COMMON_DB_ARRAY_H

#include "common/base/buf.h"
#include "common/base/uuid.h"

/* `room` is a guess at its length in bytes. */
void array_open(struct buf *array, struct arena *arena, size_t room);
/* Any text; STR_NONE is NULL. */
void array_add(struct buf *array, struct str text);
/* What needs no quotes: names and hexadecimal digits of ours, numbers as text. */
void array_add_plain(struct buf *array, struct str text);
void array_add_int(struct buf *array, int64_t number);
void array_add_id(struct buf *array, const struct uuid *id);
/* The whole of it; nothing can be added behind. */
struct str array_close(struct buf *array);

#endif

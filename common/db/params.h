/*
 * params - the parameters of a statement, and arrays for one of them.
 *
 * Owns     Values are not copied; those that must be formatted first live in the arena.
 * Threads  One thread at a time.
 * Fails    Only db_once(), as db_commit() does. More than PARAMS_MAX parameters abort the program.
 */
#ifndef COMMON_DB_PARAMS_H
#define COMMON_DB_PARAMS_H

#include "common/base/buf.h"
#include "common/base/uuid.h"
#include "common/db/db.h"

/* -- the parameters of one statement ----------------------------------------------------------- */

#define PARAMS_MAX 8

/* In the order of their numbers. All zeros is an empty list. */
struct params {
    db_param at[PARAMS_MAX];
    size_t n;
};

void params_add(struct params *params, struct str value); /* STR_NONE is SQL NULL */
void params_add_bool(struct params *params, bool value);
void params_add_int(struct params *params, struct arena *arena, int64_t value);
void params_add_id(struct params *params, struct arena *arena, const struct uuid *id);

/* Runs a statement in a transaction of its own, for upkeep. The link must be up. Its rows are
   db_result(db, 0), until the next batch. */
MUST_CHECK enum status db_once(struct db *db, int statement, const struct params *params,
                               int64_t timeout_us);

/* -- an array, element by element -------------------------------------------------------------- */

/* As text: {1,"a","b\"c",NULL}. */

/* `capacity` is an estimate of its length in bytes. */
void array_open(struct buf *array, struct arena *arena, size_t capacity);
/* Any text; STR_NONE is NULL. */
void array_add(struct buf *array, struct str text);
/* Text that needs no quotes: our own names and hexadecimal digits, numbers as text. */
void array_add_plain(struct buf *array, struct str text);
void array_add_int(struct buf *array, int64_t number);
void array_add_id(struct buf *array, const struct uuid *id);
/* The complete array; nothing can be added afterwards. */
struct str array_close(struct buf *array);

/* -- an array in binary format ---------------------------------------------------------------- */

/* Needs its bit in db_add_binary(). Parsing an id from text costs the server more than half a
   microsecond, and a request has a dozen; of other texts it inspects every byte. */

/* uuid[]; `n` is an estimate of how many. */
void ids_open(struct buf *ids, struct arena *arena, size_t n);
void ids_add(struct buf *ids, const struct uuid *id); /* NULL is NULL */
/* A text that is not an id is NULL, and so is STR_NONE. */
void ids_add_text(struct buf *ids, struct str text);

/* text[] and jsonb[]; `capacity` is an estimate of the length in bytes. STR_NONE is NULL. Do not
   pass a NUL byte: it makes the statement fail. */
void texts_open(struct buf *texts, struct arena *arena, size_t capacity);
void texts_add(struct buf *texts, struct str text);
void jsons_open(struct buf *jsons, struct arena *arena, size_t capacity);
void jsons_add(struct buf *jsons, struct str json);

/* smallint[] and timestamptz[], of Unix microseconds. */
void smallints_open(struct buf *numbers, struct arena *arena, size_t n);
void smallints_add(struct buf *numbers, int16_t number);
void times_open(struct buf *times, struct arena *arena, size_t n);
void times_add(struct buf *times, int64_t us);

/* The complete array; nothing can be added afterwards. */
struct str binary_close(struct buf *elements);

#endif

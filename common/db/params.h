/*
 * params - the parameters of a statement, and arrays for one of them.
 *
 * Owns     Values are not copied; those that must be formatted first live in the arena.
 * Threads  One thread at a time.
 * Fails    Never. More than PARAMS_MAX parameters abort the program.
 */
#ifndef COMMON_DB_PARAMS_H
#define COMMON_DB_PARAMS_H

#include "common/base/buf.h"
#include "common/base/uuid.h"

/* -- the parameters of one statement ----------------------------------------------------------- */

#define PARAMS_MAX 24

/* In the order of their numbers. All zeros is an empty list. */
struct params {
    struct str at[PARAMS_MAX]; /* STR_NONE is SQL NULL */
    size_t n;
    uint32_t binary; /* a bit for each that is not in text format; bit 0 is that of the first */
};

/* A list of texts (struct str), until the end of the block. */
#define PARAMS(...)                                                                                \
    (&(const struct params){.at = {__VA_ARGS__},                                                   \
                            .n = sizeof((struct str[]){__VA_ARGS__}) / sizeof(struct str)})

/* A value as text, in the arena. */
struct str param_int(struct arena *arena, int64_t value);
struct str param_id(struct arena *arena, const struct uuid *id);

void params_add(struct params *params, struct str value);
void params_add_bool(struct params *params, bool value);
void params_add_int(struct params *params, struct arena *arena, int64_t value);
void params_add_id(struct params *params, struct arena *arena, const struct uuid *id);

/* The value of a bytea, as it is. */
void params_add_bytes(struct params *params, struct str bytes);
/* Adds one of another list. */
void params_add_from(struct params *params, const struct params *other, size_t i);

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

/* Parsing an id from text costs the server more than half a microsecond, and a request has a dozen;
   of other texts it inspects every byte. */

/* A type of its own, since it is no text. */
struct elements {
    struct buf buf;
};

/* uuid[]; `n` is an estimate of how many. */
void ids_open(struct elements *ids, struct arena *arena, size_t n);
void ids_add(struct elements *ids, const struct uuid *id); /* NULL is NULL */
/* A text that is not an id is NULL, and so is STR_NONE. */
void ids_add_text(struct elements *ids, struct str text);

/* text[] and jsonb[]; `capacity` is an estimate of the length in bytes. STR_NONE is NULL. Do not
   pass a NUL byte: it makes the statement fail. */
void texts_open(struct elements *texts, struct arena *arena, size_t capacity);
void texts_add(struct elements *texts, struct str text);
void jsons_open(struct elements *jsons, struct arena *arena, size_t capacity);
void jsons_add(struct elements *jsons, struct str json);

/* smallint[] and timestamptz[], of Unix microseconds. */
void smallints_open(struct elements *numbers, struct arena *arena, size_t n);
void smallints_add(struct elements *numbers, int16_t number);
void times_open(struct elements *times, struct arena *arena, size_t n);
void times_add(struct elements *times, int64_t us);

/* The complete array; nothing can be added to it afterwards. */
void params_add_elements(struct params *params, const struct elements *elements);

#endif

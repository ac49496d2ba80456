/*
 * arena - memory that is allocated by moving a pointer and freed all at once.
 *
 * What     One arena per message or per request. Blocks are zeroed and aligned for any type.
 * Owns     Every block; arena_clear() frees them all and keeps the first chunk for reuse.
 * Threads  One thread at a time.
 * Fails    Never returns NULL: sizes from outside are limited before they get here, so running out
 *          of memory or exceeding the cap is a bug or a dead machine, and aborts with a message.
 */
#ifndef COMMON_BASE_ARENA_H
#define COMMON_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/str.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *head; /* newest chunk first */
    size_t used;              /* bytes allocated since the last clear */
    size_t cap;               /* abort above this many */
    bool wipes;               /* set before storing a secret: clearing then overwrites it */
};

void arena_init(struct arena *arena, size_t cap_bytes);
void arena_clear(struct arena *arena);
void arena_release(struct arena *arena);

void *arena_alloc(struct arena *arena, size_t n);
#define ARENA_NEW(arena, type)      ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, n) ((type *)arena_alloc_array((arena), sizeof(type), (n)))
void *arena_alloc_array(struct arena *arena, size_t size, size_t n); /* overflow aborts */

/* A copy, followed by a NUL. STR_NONE stays STR_NONE. */
struct str arena_str(struct arena *arena, struct str s);
/* The same as a C string; "" for STR_NONE. */
char *arena_cstr(struct arena *arena, struct str s);
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Zeroed memory from the heap; free() it. Aborts on failure, as an arena does. */
void *heap_zeroed(size_t n, size_t size);

#endif

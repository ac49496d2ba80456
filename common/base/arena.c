#include "common/base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

/* gcc signals AddressSanitizer with a macro, clang with a feature. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_POISONED 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define IS_POISONED 1
#endif

#ifdef IS_POISONED
/* Bytes that were not allocated count as out of bounds, so overruns inside a chunk are detected,
   too. */
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum { ALIGN = _Alignof(max_align_t), CHUNK_MIN = 8 * 1024, CHUNK_MAX = 256 * 1024 };

struct arena_chunk {
    struct arena_chunk *older;
    size_t used, capacity; /* of data[] */
    _Alignas(max_align_t) char data[];
};

void arena_init(struct arena *arena, size_t cap_bytes)
{
    *arena = (struct arena){.cap = cap_bytes};
}

static void wipe(struct arena *arena)
{
    for (struct arena_chunk *chunk = arena->head; chunk != NULL; chunk = chunk->older) {
        ASAN_UNPOISON_MEMORY_REGION(chunk->data, chunk->used);
        explicit_bzero(chunk->data, chunk->used);
    }
    arena->wipes = false;
}

void arena_clear(struct arena *arena)
{
    struct arena_chunk *chunk = arena->head;

    if (arena->wipes)
        wipe(arena);
    while (chunk != NULL && chunk->older != NULL) {
        arena->head = chunk->older;
        free(chunk);
        chunk = arena->head;
    }
    if (chunk != NULL) {
        chunk->used = 0;
        ASAN_POISON_MEMORY_REGION(chunk->data, chunk->capacity);
    }
    arena->used = 0;
}

void arena_release(struct arena *arena)
{
    arena_clear(arena);
    free(arena->head);
    arena->head = NULL;
}

/* Each chunk is twice as large as the one before, so that a large message needs only a few. */
static void add_chunk(struct arena *arena, size_t n)
{
    size_t capacity =
        arena->head != NULL ? arena->head->capacity * 2 : CHUNK_MIN - sizeof(struct arena_chunk);
    struct arena_chunk *chunk;

    if (capacity > CHUNK_MAX)
        capacity = CHUNK_MAX;
    if (capacity < n)
        capacity = n;
    chunk = malloc(sizeof(*chunk) + capacity);
    must(chunk != NULL);
    *chunk = (struct arena_chunk){.older = arena->head, .capacity = capacity};
    ASAN_POISON_MEMORY_REGION(chunk->data, capacity);
    arena->head = chunk;
}

void *arena_alloc(struct arena *arena, size_t n)
{
    size_t step;
    char *p;

    must(n <= arena->cap && arena->cap - n >= arena->used);
    step = (n + ALIGN - 1) / ALIGN * ALIGN;
    if (arena->head == NULL || arena->head->capacity - arena->head->used < step)
        add_chunk(arena, step);
    p = arena->head->data + arena->head->used;
    arena->head->used += step;
    arena->used += step;
    ASAN_UNPOISON_MEMORY_REGION(p, n);
    return memset(p, 0, n);
}

void *arena_alloc_array(struct arena *arena, size_t size, size_t n)
{
    size_t total;
    bool overflows = __builtin_mul_overflow(size, n, &total);

    must(!overflows);
    return arena_alloc(arena, total);
}

struct str arena_str(struct arena *arena, struct str s)
{
    return s.p != NULL ? (struct str){arena_cstr(arena, s), s.n} : STR_NONE;
}

char *arena_cstr(struct arena *arena, struct str s)
{
    char *p = arena_alloc(arena, s.n + 1);

    if (s.n > 0)
        memcpy(p, s.p, s.n);
    return p;
}

char *arena_vprintf(struct arena *arena, const char *format, va_list args)
{
    va_list again;
    int n;
    char *p;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, args);
    must(n >= 0);
    p = arena_alloc(arena, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    return p;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    char *p;

    va_start(args, format);
    p = arena_vprintf(arena, format, args);
    va_end(args);
    return p;
}

void *heap_zeroed(size_t n, size_t size)
{
    void *p = calloc(n, size);

    must(p != NULL);
    return p;
}

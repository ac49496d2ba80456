/*
 * buf - a growing buffer of bytes in an arena.
 *
 * Owns     Nothing; the arena owns the memory. Growing leaves the old block in the arena.
 * Threads  One thread at a time.
 * Fails    Never (see arena.h).
 */
#ifndef COMMON_BASE_BUF_H
#define COMMON_BASE_BUF_H

#include "common/base/arena.h"
#include "common/base/str.h"

struct buf {
    struct arena *arena;
    char *p;
    size_t n, capacity;
};

void buf_init(struct buf *buf, struct arena *arena, size_t capacity);
/* Makes room for n more bytes. */
void buf_reserve(struct buf *buf, size_t n);
void buf_add(struct buf *buf, struct str s);
static inline void buf_char(struct buf *buf, char c)
{
    if (buf->n == buf->capacity)
        buf_reserve(buf, 1);
    buf->p[buf->n++] = c;
}
/* Formats a number at the end of `text`; returns its characters. */
#define INT_TEXT 20
struct str int_text(int64_t value, char text[INT_TEXT]);
void buf_int(struct buf *buf, int64_t value);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct str buf_str(const struct buf *buf);

#endif

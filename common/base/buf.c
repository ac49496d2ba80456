#include "common/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"

void buf_init(struct buf *buf, struct arena *arena, size_t capacity)
{
    *buf = (struct buf){.arena = arena, .p = arena_alloc(arena, capacity), .capacity = capacity};
}

void buf_reserve(struct buf *buf, size_t n)
{
    size_t capacity = buf->capacity * 2;
    char *p;

    if (buf->capacity - buf->n >= n)
        return;
    if (capacity < buf->n + n)
        capacity = buf->n + n;
    p = arena_alloc(buf->arena, capacity);
    if (buf->n > 0)
        memcpy(p, buf->p, buf->n);
    buf->p = p;
    buf->capacity = capacity;
}

void buf_add(struct buf *buf, struct str s)
{
    if (s.n == 0)
        return;
    buf_reserve(buf, s.n);
    memcpy(buf->p + buf->n, s.p, s.n);
    buf->n += s.n;
}

struct str int_text(int64_t value, char text[INT_TEXT])
{
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    size_t at = INT_TEXT;

    do {
        text[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        text[--at] = '-';
    return (struct str){text + at, INT_TEXT - at};
}

void buf_int(struct buf *buf, int64_t value)
{
    char text[INT_TEXT];

    buf_add(buf, int_text(value, text));
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    size_t left = buf->capacity - buf->n;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(buf->p + buf->n, left, format, args);
    va_end(args);
    must(n >= 0);
    /* Its NUL must fit, too, although it does not count. */
    if ((size_t)n >= left) {
        buf_reserve(buf, (size_t)n + 1);
        va_start(args, format);
        vsnprintf(buf->p + buf->n, (size_t)n + 1, format, args);
        va_end(args);
    }
    buf->n += (size_t)n;
}

struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->p, buf->n};
}

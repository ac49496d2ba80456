#include "common/base/text.h"

#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wctype.h>

#include "common/base/ascii.h"
#include "common/base/must.h"

/* -- code points ------------------------------------------------------------------------------- */

/* Any byte of a code point but the first. */
static bool is_tail(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

size_t utf8_decode(struct str s, uint32_t *code)
{
    static const uint32_t min[UTF8_MAX + 1] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s.p;
    uint32_t value;
    size_t n;

    if (s.n == 0)
        return 0;
    if (p[0] < 0x80) {
        *code = p[0];
        return 1;
    }
    if (p[0] < 0xC2 || p[0] > 0xF4)
        return 0;
    n = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (s.n < n)
        return 0;
    value = p[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (!is_tail(s.p[i]))
            return 0;
        value = value << 6 | (p[i] & 0x3Fu);
    }
    if (value < min[n] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return 0;
    *code = value;
    return n;
}

size_t utf8_encode(uint32_t code, char out[UTF8_MAX])
{
    static const unsigned char mark[UTF8_MAX + 1] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    out[0] = (char)(mark[n] | code);
    return n;
}

/* -- texts ------------------------------------------------------------------------------------- */

size_t text_length(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += !is_tail(s.p[i]);
    return n;
}

bool text_has_nul(struct str s)
{
    return s.n > 0 && memchr(s.p, '\0', s.n) != NULL;
}

/* The 25 code points with the property White_Space. */
static bool is_space(uint32_t code)
{
    if (code < 0x80)
        return code == ' ' || (code >= '\t' && code <= '\r');
    return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
           code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

/* The number of bytes of the white space character at the front of `s`; 0: there is none. */
static size_t space_in_front(struct str s)
{
    uint32_t code;
    size_t n = utf8_decode(s, &code);

    return n > 0 && is_space(code) ? n : 0;
}

static size_t space_behind(struct str s)
{
    size_t start = s.n, n;

    if (s.n == 0)
        return 0;
    do
        start--;
    while (start > 0 && s.n - start < UTF8_MAX && is_tail(s.p[start]));
    n = space_in_front(str_skip(s, start));
    return n == s.n - start ? n : 0;
}

bool text_has_outer_space(struct str s)
{
    return space_in_front(s) > 0 || space_behind(s) > 0;
}

struct str text_trim(struct str s)
{
    size_t n;

    while ((n = space_in_front(s)) > 0)
        s = str_skip(s, n);
    while ((n = space_behind(s)) > 0)
        s.n -= n;
    return s;
}

/* A locale of our own, so that the process may run in any. */
static locale_t unicode;

static void open_unicode(void)
{
    unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    must(unicode != (locale_t)0);
}

struct str text_lower(struct arena *arena, struct str s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char *out;
    size_t n = 0, taken;

    if (s.p == NULL)
        return s;
    pthread_once(&once, open_unicode);
    /* A lower-case letter may need one byte more than its capital, but never twice as many. */
    out = arena_alloc(arena, s.n * 2 + 1);
    for (; s.n > 0; s = str_skip(s, taken)) {
        uint32_t code;

        taken = utf8_decode(s, &code);
        if (taken == 0) { /* malformed: kept unchanged */
            out[n++] = s.p[0];
            taken = 1;
            continue;
        }
        n += utf8_encode((uint32_t)towlower_l((wint_t)code, unicode), out + n);
    }
    return (struct str){out, n};
}

bool text_is_utf8(struct str s)
{
    while (s.n > 0) {
        uint32_t code;
        size_t n = utf8_decode(s, &code);

        if (n == 0)
            return false;
        s = str_skip(s, n);
    }
    return true;
}

bool text_decode_form(struct str raw, char *bytes, size_t max, struct str *out)
{
    size_t n = 0;

    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i] == '+' ? ' ' : raw.p[i];

        if (c == '%') {
            int high = raw.n - i > 2 ? hex_value(raw.p[i + 1]) : -1;
            int low = raw.n - i > 2 ? hex_value(raw.p[i + 2]) : -1;

            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (n == max)
            return false;
        bytes[n++] = c;
    }
    *out = (struct str){bytes, n};
    return text_is_utf8(*out) && !text_has_nul(*out);
}

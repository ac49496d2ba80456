#include "common/base/utf8.h"

static bool is_tail(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
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
        if (!is_tail(p[i]))
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

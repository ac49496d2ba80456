#include "common/base/ascii.h"

#include <string.h>

/* The value of a hexadecimal digit, plus bits for the letter cases that it is valid in; 0 for other
   characters. */
enum { VALUE = 0x0F, LOWER = 0x10, UPPER = 0x20, EITHER = LOWER | UPPER };
static const uint8_t digit_of[256] = {
    ['0'] = EITHER | 0, ['1'] = EITHER | 1, ['2'] = EITHER | 2, ['3'] = EITHER | 3,
    ['4'] = EITHER | 4, ['5'] = EITHER | 5, ['6'] = EITHER | 6, ['7'] = EITHER | 7,
    ['8'] = EITHER | 8, ['9'] = EITHER | 9, ['a'] = LOWER | 10, ['b'] = LOWER | 11,
    ['c'] = LOWER | 12, ['d'] = LOWER | 13, ['e'] = LOWER | 14, ['f'] = LOWER | 15,
    ['A'] = UPPER | 10, ['B'] = UPPER | 11, ['C'] = UPPER | 12, ['D'] = UPPER | 13,
    ['E'] = UPPER | 14, ['F'] = UPPER | 15,
};

bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool ascii_is_letter(char c)
{
    return ascii_is_lower(ascii_lower(c));
}

bool ascii_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

bool ascii_is_alphanumeric(char c)
{
    return ascii_is_letter(c) || ascii_is_digit(c);
}

bool ascii_is_token(char c)
{
    return ascii_is_alphanumeric(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

char ascii_upper(char c)
{
    return ascii_is_lower(c) ? (char)(c & ~0x20) : c;
}

bool str_equal_nocase(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
            return false;
    return true;
}

int hex_value(char c)
{
    uint8_t digit = digit_of[(unsigned char)c];

    return digit != 0 ? digit & VALUE : -1;
}

char hex_digit(unsigned value)
{
    return "0123456789abcdef"[value & VALUE];
}

void hex_write(const void *bytes, size_t n, char *text)
{
    const uint8_t *p = bytes;

    for (size_t i = 0; i < n; i++) {
        text[2 * i] = hex_digit(p[i] >> 4);
        text[2 * i + 1] = hex_digit(p[i]);
    }
    text[2 * n] = '\0';
}

bool hex_read(struct str text, void *bytes, size_t n)
{
    const unsigned char *digits = (const unsigned char *)text.p;
    uint8_t all = LOWER, *p = bytes;

    if (text.n % 2 != 0 || text.n / 2 != n)
        return false;
    for (size_t i = 0; i < text.n; i++)
        all &= digit_of[digits[i]];
    if (all != LOWER)
        return false;
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((digit_of[digits[2 * i]] & VALUE) << 4 |
                         (digit_of[digits[2 * i + 1]] & VALUE));
    return true;
}

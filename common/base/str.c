#include "common/base/str.h"

#include <string.h>

struct str str_of(const char *c_string)
{
    return c_string != NULL ? (struct str){c_string, strlen(c_string)} : STR_NONE;
}

bool str_equal(struct str a, struct str b)
{
    /* memcmp() must not see NULL, not even for no bytes. */
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && str_equal((struct str){s.p, prefix.n}, prefix);
}

struct str str_skip(struct str s, size_t n)
{
    if (s.p == NULL)
        return s;
    if (n > s.n)
        n = s.n;
    return (struct str){s.p + n, s.n - n};
}

static bool is_ows(char c)
{
    return c == ' ' || c == '\t';
}

struct str str_trim_ows(struct str s)
{
    while (s.n > 0 && is_ows(s.p[0]))
        s = str_skip(s, 1);
    while (s.n > 0 && is_ows(s.p[s.n - 1]))
        s.n--;
    return s;
}

struct str str_cut(struct str *rest, char sep)
{
    struct str head = *rest;
    const char *at = head.n > 0 ? memchr(head.p, sep, head.n) : NULL;

    if (at == NULL) {
        *rest = STR_NONE;
        return head;
    }
    head.n = (size_t)(at - head.p);
    *rest = str_skip(*rest, head.n + 1);
    return head;
}

bool str_to_u64(struct str s, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;

    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        uint64_t digit = (uint64_t)(unsigned char)s.p[i] - '0';

        if (digit > 9 || digit > max || value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

/* The last steps of splitmix64: each bit of the result depends on each bit of x. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

uint64_t hash_key(const uint8_t key[16], uint64_t seed)
{
    uint64_t word[2];

    memcpy(word, key, sizeof(word));
    return mix(mix(word[0] ^ seed) ^ word[1]);
}

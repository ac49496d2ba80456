/*
 * str - a slice of bytes: pointer and length, not owned, not NUL-terminated; and a hash of keys.
 *
 * Owns     Nothing. The bytes live as long as whatever they were cut from.
 * Threads  Plain values.
 */
#ifndef COMMON_BASE_STR_H
#define COMMON_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    const char *p; /* NULL means absent, which is not the same as empty */
    size_t n;
};

#define STR(literal)                                                                               \
    (struct str)                                                                                   \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }
#define STR_NONE                                                                                   \
    (struct str)                                                                                   \
    {                                                                                              \
        NULL, 0                                                                                    \
    }
/* How many elements an array has; not for a pointer. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* For printf: "%.*s". */
#define STR_ARG(s) (int)(s).n, (s).p

struct str str_of(const char *c_string); /* NULL gives STR_NONE */
bool str_equal(struct str a, struct str b);
bool str_equal_nocase(struct str a, struct str b); /* ASCII letters only */
bool str_starts(struct str s, struct str prefix);
struct str str_skip(struct str s, size_t n); /* without its first n bytes; n is capped */
struct str str_trim_ows(struct str s);       /* without spaces and tabs at both ends */

/* Cuts up to `sep` off the front of *rest and returns it; *rest keeps what follows the separator.
   Without a separator, returns all and leaves *rest as STR_NONE. */
struct str str_cut(struct str *rest, char sep);

/* Decimal digits only, no sign, no blanks, at most `max`; false leaves *out untouched. */
bool str_to_u64(struct str s, uint64_t max, uint64_t *out);

/* Spreads keys of 16 bytes that clients choose (an address, the start of a digest) over the buckets of
   a table. Not for secrets, and not to be stored: with another seed it is another function. The seed
   is random and a program's own, so a client cannot find keys that fall into one bucket. */
uint64_t hash_key(const uint8_t key[16], uint64_t seed);

#endif

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
    const char *p; /* NULL: absent, as opposed to empty */
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
/* The number of elements of an array; not for pointers. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* For printf: "%.*s". */
#define STR_ARG(s) (int)(s).n, (s).p

struct str str_of(const char *c_string); /* NULL gives STR_NONE */
bool str_equal(struct str a, struct str b);
bool str_starts(struct str s, struct str prefix);
struct str str_skip(struct str s, size_t n); /* without its first n bytes; n is capped */
struct str str_trim_ows(struct str s);       /* without spaces and tabs at both ends */

/* Cuts off and returns the part of *rest before `sep`; *rest becomes the part after it. Without a
   separator, returns all and sets *rest to STR_NONE. */
struct str str_cut(struct str *rest, char sep);

/* Decimal digits only, no sign, no blanks, at most `max`; false leaves *out untouched. */
bool str_to_u64(struct str s, uint64_t max, uint64_t *out);

/* A hash for tables whose 16-byte keys clients choose (an address, the start of a digest). Not for
   secrets, and not for storage, since it depends on the seed. Each program has its own random seed,
   so that a client cannot find keys that fall into one bucket. */
uint64_t hash_key(const uint8_t key[16], uint64_t seed);

#endif

/*
 * recent_table - what was used lately, found by a key of 16 bytes, in a fixed amount of memory.
 *
 * What     Each key has one set of places. If all of them are taken, the entry with the lowest rank
 *          makes room for a new one. Entries are structs that begin with struct recent.
 * Owns     Free it with recent_table_free(). Entries stay where they are until they are replaced.
 * Threads  One at a time.
 */
#ifndef COMMON_BASE_RECENT_TABLE_H
#define COMMON_BASE_RECENT_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct recent {
    uint8_t key[16];
    int64_t rank; /* the caller's, such as the time of the latest use; 0: the place is free */
};

#define RECENT_KEPT INT64_MAX /* a rank: it is not replaced */

/* `sets` is a power of two, `size` the size of the entries. `seed` is random if clients choose keys,
   so that they cannot aim at a set. */
struct recent_table *recent_table_new(size_t sets, size_t ways, size_t size, uint64_t seed);
void recent_table_free(struct recent_table *table); /* NULL is fine */

/* NULL: it is not there. */
void *recent_table_find(const struct recent_table *table, const uint8_t key[16]);
/* The entry with this key. One that was not there is zeros after the key; give it a rank. NULL: all
   places of its set are kept. */
void *recent_table_add(struct recent_table *table, const uint8_t key[16]);

#endif

#include "common/base/recent_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/base/str.h"

struct recent_table {
    size_t sets, ways, size;
    uint64_t seed;
    _Alignas(max_align_t) char entries[];
};

struct recent_table *recent_table_new(size_t sets, size_t ways, size_t size, uint64_t seed)
{
    struct recent_table *table = heap_zeroed(1, sizeof(*table) + sets * ways * size);

    must(sets > 0 && (sets & (sets - 1)) == 0 && ways > 0 && size >= sizeof(struct recent));
    table->sets = sets;
    table->ways = ways;
    table->size = size;
    table->seed = seed;
    return table;
}

void recent_table_free(struct recent_table *table)
{
    free(table);
}

/* The first of the key's set. */
static struct recent *set_of(const struct recent_table *table, const uint8_t key[16])
{
    const size_t set = hash_key(key, table->seed) & (table->sets - 1);

    return (struct recent *)(table->entries + set * table->ways * table->size);
}

static struct recent *next_of(const struct recent_table *table, struct recent *entry)
{
    return (struct recent *)((char *)entry + table->size);
}

void *recent_table_find(const struct recent_table *table, const uint8_t key[16])
{
    struct recent *entry = set_of(table, key);

    for (size_t i = 0; i < table->ways; i++, entry = next_of(table, entry))
        if (entry->rank != 0 && memcmp(entry->key, key, sizeof(entry->key)) == 0)
            return entry;
    return NULL;
}

void *recent_table_add(struct recent_table *table, const uint8_t key[16])
{
    struct recent *found = recent_table_find(table, key), *entry = set_of(table, key);

    if (found != NULL)
        return found;
    found = entry;
    for (size_t i = 0; i < table->ways; i++, entry = next_of(table, entry))
        if (entry->rank < found->rank)
            found = entry;
    if (found->rank == RECENT_KEPT)
        return NULL;
    memset(found, 0, table->size);
    memcpy(found->key, key, sizeof(found->key));
    return found;
}

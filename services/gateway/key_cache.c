#include "services/gateway/key_cache.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/crypto/crypto.h"

#define BUCKETS 16384 /* a power of two */

/* Keys of one kind, least recently used first. */
struct recency {
    h2o_linklist_t keys;
    size_t n, max;
};

struct key_cache {
    struct recency known, other;
    uint64_t seed; /* random: clients cannot aim at a bucket */
    struct key *bucket[BUCKETS];
};

struct key_cache *key_cache_new(size_t known_max, size_t other_max)
{
    struct key_cache *cache = calloc(1, sizeof(*cache));

    must(cache != NULL);
    crypto_random(&cache->seed, sizeof(cache->seed));
    h2o_linklist_init_anchor(&cache->known.keys);
    h2o_linklist_init_anchor(&cache->other.keys);
    cache->known.max = known_max;
    cache->other.max = other_max;
    return cache;
}

static struct key *key_at(h2o_linklist_t *node)
{
    return H2O_STRUCT_FROM_MEMBER(struct key, recency, node);
}

static struct key **place_of(struct key_cache *cache, const uint8_t hash[SHA256_BYTES])
{
    uint64_t half[2];
    struct key **place;

    memcpy(half, hash, sizeof(half));
    place = &cache->bucket[hash_words(half[0], half[1], cache->seed) % BUCKETS];
    while (*place != NULL && memcmp((*place)->hash, hash, SHA256_BYTES) != 0)
        place = &(*place)->chain;
    return place;
}

/* Which list the key is in, whatever its state has become since. */
static struct recency *recency_of(struct key_cache *cache, const struct key *key)
{
    return key->listed_as_known ? &cache->known : &cache->other;
}

static void unlist(struct key_cache *cache, struct key *key)
{
    recency_of(cache, key)->n--;
    h2o_linklist_unlink(&key->recency);
}

static void list(struct key_cache *cache, struct key *key)
{
    key->listed_as_known = key->state == KEY_KNOWN;
    recency_of(cache, key)->n++;
    h2o_linklist_insert(&recency_of(cache, key)->keys, &key->recency);
}

static void forget(struct key_cache *cache, struct key *key)
{
    struct key **place = place_of(cache, key->hash);

    *place = key->chain;
    unlist(cache, key);
    key_record_release(&key->record);
    free(key);
}

static void make_room(struct key_cache *cache, struct recency *recency)
{
    h2o_linklist_t *node = recency->keys.next;

    while (recency->n > recency->max && node != &recency->keys) {
        struct key *key = key_at(node);

        node = node->next;
        if (key->users == 0)
            forget(cache, key);
    }
}

void key_cache_free(struct key_cache *cache)
{
    if (cache == NULL)
        return;
    while (!h2o_linklist_is_empty(&cache->known.keys))
        forget(cache, key_at(cache->known.keys.next));
    while (!h2o_linklist_is_empty(&cache->other.keys))
        forget(cache, key_at(cache->other.keys.next));
    free(cache);
}

struct key *key_cache_get(struct key_cache *cache, const uint8_t hash[SHA256_BYTES])
{
    struct key **place = place_of(cache, hash);
    struct key *key = *place;

    if (key == NULL) {
        key = calloc(1, sizeof(*key));
        must(key != NULL);
        memcpy(key->hash, hash, SHA256_BYTES);
        h2o_linklist_init_anchor(&key->waiting);
        h2o_linklist_init_anchor(&key->short_of);
        *place = key;
        list(cache, key);
    }
    key->users++;
    return key;
}

void key_cache_hold(struct key *key)
{
    key->users++;
}

void key_cache_put(struct key_cache *cache, struct key *key)
{
    must(key->users > 0);
    key->users--;
    unlist(cache, key);
    list(cache, key);
    make_room(cache, recency_of(cache, key));
}

void key_cache_doubt(struct key_cache *cache, struct str organization_id)
{
    struct recency *const lists[] = {&cache->known, &cache->other};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        for (h2o_linklist_t *node = lists[i]->keys.next; node != &lists[i]->keys;
             node = node->next) {
            struct key *key = key_at(node);
            /* Also a refusal: a key may have been made, or its organization be not known. */
            if (key->state != KEY_KNOWN ||
                str_equal(str_of(key->record.organization_id), organization_id))
                key_doubt(key, organization_id);
        }
}

void key_cache_each(struct key_cache *cache, void (*visit)(struct key *key, void *closure),
                    void *closure)
{
    for (h2o_linklist_t *node = cache->known.keys.next; node != &cache->known.keys;
         node = node->next)
        visit(key_at(node), closure);
}

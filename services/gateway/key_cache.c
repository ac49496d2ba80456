#include "services/gateway/key_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/crypto/crypto.h"

/* -- keys ------------------------------------------------------------------------------------ */

#define REFRESH_US  3000000
#define RELY_US     5000000
#define REMEMBER_US 60000000
#define TIMEOUT_US  1000000 /* between two lookups of a key while access is unreachable */

/* Known, and confirmed recently enough to be used without access. */
static bool can_do_without(const struct key *key, int64_t mono_us)
{
    return key->state == KEY_KNOWN && !key->stale && mono_us - key->confirmed_us < REMEMBER_US;
}

enum key_result key_check(const struct key *key, int64_t mono_us, int64_t now_s, bool can_ask)
{
    int64_t age_us = mono_us - key->confirmed_us;
    bool expired = key->state == KEY_KNOWN && key->record.expires_at <= now_s;
    bool may_ask = can_ask && mono_us >= key->ask_again_us && !key->asking;

    if (key->state != KEY_NEW && !key->stale && age_us < RELY_US) {
        if (key->state == KEY_REFUSED || expired)
            return KEY_BAD;
        return age_us < REFRESH_US || key->asking || !can_ask ? KEY_GOOD : KEY_GOOD_ASK;
    }
    /* After one failed call to access, requests do not wait for it. */
    if ((key->ask_again_us != 0 || !can_ask) && can_do_without(key, mono_us)) {
        if (expired)
            return KEY_BAD;
        return may_ask ? KEY_GOOD_ASK : KEY_GOOD;
    }
    return may_ask || (key->asking && can_ask) ? KEY_ASK : KEY_OUT_OF_REACH;
}

void key_confirm(struct key *key, struct key_record *record)
{
    key_record_release(&key->record);
    key->record = *record;
    *record = (struct key_record){0};
    key->state = KEY_KNOWN;
    key->confirmed_us = key->asked_us;
    key->ask_again_us = 0;
    key->stale = false;
}

void key_refuse(struct key *key)
{
    key->state = KEY_REFUSED;
    key->confirmed_us = key->asked_us;
    key->ask_again_us = 0;
    key->stale = false;
}

void key_unreachable(struct key *key, int64_t mono_us)
{
    key->ask_again_us = mono_us + TIMEOUT_US;
}

void key_reachable(struct key *key)
{
    key->ask_again_us = 0;
}

void key_doubt(struct key *key, struct str organization_id)
{
    key->stale = true;
    key->ask_again_us = 0;
    if (!key->asking || str_equal(str_of(key->overtaken_by), organization_id))
        return;
    key->overtaken_again = key->overtaken_by[0] != '\0';
    snprintf(key->overtaken_by, sizeof(key->overtaken_by), "%.*s", STR_ARG(organization_id));
}

bool key_is_overtaken(const struct key *key, const struct key_record *record)
{
    if (key->overtaken_by[0] == '\0')
        return false;
    return key->overtaken_again || record == NULL ||
           strcmp(key->overtaken_by, record->organization_id) == 0;
}

/* -- the cache ------------------------------------------------------------------------------- */

#define BUCKETS 16384 /* a power of two */

/* Keys of one kind, least recently used first. */
struct recency {
    struct list keys;
    size_t n, max;
};

struct key_cache {
    struct recency known, other;
    uint64_t seed; /* random: clients cannot aim at a bucket */
    struct key *bucket[BUCKETS];
};

struct key_cache *key_cache_new(size_t known_max, size_t other_max)
{
    struct key_cache *cache = heap_zeroed(1, sizeof(*cache));

    crypto_random(&cache->seed, sizeof(cache->seed));
    list_init(&cache->known.keys);
    list_init(&cache->other.keys);
    cache->known.max = known_max;
    cache->other.max = other_max;
    return cache;
}

static struct key **place_of(struct key_cache *cache, const uint8_t hash[SHA256_BYTES])
{
    struct key **place = &cache->bucket[hash_key(hash, cache->seed) % BUCKETS];

    while (*place != NULL && memcmp((*place)->hash, hash, SHA256_BYTES) != 0)
        place = &(*place)->chain;
    return place;
}

/* The list that holds the key, even if its state has changed since it was listed. */
static struct recency *recency_of(struct key_cache *cache, const struct key *key)
{
    return key->listed_as_known ? &cache->known : &cache->other;
}

static void unlist(struct key_cache *cache, struct key *key)
{
    recency_of(cache, key)->n--;
    list_remove(&key->recency);
}

static void list(struct key_cache *cache, struct key *key)
{
    key->listed_as_known = key->state == KEY_KNOWN;
    recency_of(cache, key)->n++;
    list_add(&recency_of(cache, key)->keys, &key->recency);
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
    struct key *key;

    LIST_EACH(key, &recency->keys, recency) {
        if (recency->n <= recency->max)
            return;
        if (key->users == 0)
            forget(cache, key);
    }
}

void key_cache_free(struct key_cache *cache)
{
    struct key *key;

    if (cache == NULL)
        return;
    LIST_EACH(key, &cache->known.keys, recency)
        forget(cache, key);
    LIST_EACH(key, &cache->other.keys, recency)
        forget(cache, key);
    free(cache);
}

struct key *key_cache_get(struct key_cache *cache, const uint8_t hash[SHA256_BYTES])
{
    struct key **place = place_of(cache, hash);
    struct key *key = *place;

    if (key == NULL) {
        key = heap_zeroed(1, sizeof(*key));
        memcpy(key->hash, hash, SHA256_BYTES);
        list_init(&key->waiting);
        quota_account_init(&key->requests, key);
        quota_account_init(&key->refusals, key);
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
    struct list *const lists[] = {&cache->known.keys, &cache->other.keys};
    struct key *key;

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        LIST_EACH(key, lists[i], recency)
            /* Refused and new keys too: the key may just have been created, and its organization is
               unknown. */
            if (key->state != KEY_KNOWN ||
                str_equal(str_of(key->record.organization_id), organization_id))
                key_doubt(key, organization_id);
}

void key_cache_each(struct key_cache *cache, void (*visit)(struct key *key, void *closure),
                    void *closure)
{
    struct key *key;

    LIST_EACH(key, &cache->known.keys, recency)
        visit(key, closure);
}

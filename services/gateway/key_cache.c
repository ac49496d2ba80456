#include "services/gateway/key_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/crypto/crypto.h"

/* -- replies of access ----------------------------------------------------------------------- */

void key_record_release(struct key_record *record)
{
    free(record->addresses);
    record->addresses = NULL;
    record->n_addresses = 0;
}

bool key_record_lists(const struct key_record *record, const struct address *address)
{
    for (size_t i = 0; i < record->n_addresses; i++)
        if (address_equal(&record->addresses[i], address))
            return true;
    return false;
}

static bool read_uuid(const json_t *object, const char *name, char text[UUID_TEXT + 1])
{
    struct str value = json_member_text(object, name);
    struct uuid id;

    if (!uuid_parse(value, &id))
        return false;
    memcpy(text, value.p, UUID_TEXT);
    text[UUID_TEXT] = '\0';
    return true;
}

static bool read_bool(const json_t *object, const char *name, bool *out)
{
    const json_t *value = json_object_get(object, name);

    if (!json_is_boolean(value))
        return false;
    *out = json_is_true(value);
    return true;
}

static bool read_scope(const json_t *object, bool *may_write)
{
    struct str scope = json_member_text(object, "scope");

    *may_write = str_equal(scope, STR("full"));
    return *may_write || str_equal(scope, STR("read"));
}

static bool read_expiry(const json_t *object, int64_t *out)
{
    const json_t *value = json_object_get(object, "expires_at");

    *out = json_is_integer(value) ? json_integer_value(value) : INT64_MAX;
    return json_is_integer(value) || json_is_null(value);
}

static bool read_addresses(const json_t *object, struct key_record *record)
{
    const json_t *listed = json_object_get(object, "ip_allowlist");
    size_t n = json_array_size(listed);

    if (!json_is_array(listed) || n > KEY_ADDRESSES_MAX)
        return false;
    if (n == 0)
        return true;
    record->addresses = calloc(n, sizeof(*record->addresses));
    if (record->addresses == NULL)
        return false;
    for (; record->n_addresses < n; record->n_addresses++)
        if (!address_parse(json_text(json_array_get(listed, record->n_addresses)),
                           &record->addresses[record->n_addresses]))
            return false;
    return true;
}

bool count_read(const json_t *object, const char *name, uint32_t *out)
{
    const json_t *value = json_object_get(object, name);

    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > INT32_MAX)
        return false;
    *out = (uint32_t)json_integer_value(value);
    return true;
}

static bool read_record(const json_t *object, struct key_record *record)
{
    return read_uuid(object, "organization_id", record->organization_id) &&
           read_uuid(object, "api_key_id", record->api_key_id) &&
           read_scope(object, &record->may_write) && read_expiry(object, &record->expires_at) &&
           read_bool(object, "plan_has_api", &record->plan_has_api) &&
           read_bool(object, "require_https", &record->require_https) &&
           read_bool(object, "ip_allowlist_enabled", &record->ip_allowlist_enabled) &&
           count_read(object, "key_limit", &record->limits.key) &&
           count_read(object, "organization_limit", &record->limits.organization) &&
           cell_read(json_member_text(object, "cell"), record->cell) &&
           read_addresses(object, record);
}

bool key_record_read(struct str json, struct key_record *out)
{
    struct key_record record = {0};
    json_t *object;
    bool good;

    if (!json_read(json, &object, NULL))
        return false;
    good = read_record(object, &record);
    json_free(object);
    if (!good) {
        key_record_release(&record);
        return false;
    }
    *out = record;
    return true;
}

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
    struct key_cache *cache = heap_zeroed(1, sizeof(*cache));

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
        key = heap_zeroed(1, sizeof(*key));
        memcpy(key->hash, hash, SHA256_BYTES);
        h2o_linklist_init_anchor(&key->waiting);
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
    struct recency *const lists[] = {&cache->known, &cache->other};

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (h2o_linklist_t *node = lists[i]->keys.next; node != &lists[i]->keys;
             node = node->next) {
            struct key *key = key_at(node);
            /* Refused and new keys too: the key may just have been created, and its organization is
               unknown. */
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

/* -- familiar networks ----------------------------------------------------------------------- */

#define SETS      1024 /* a power of two */
#define WAYS      4
#define LINE      64 /* bytes in a CPU cache line */
#define LATELY_US (3600LL * 1000000)

struct familiar_entry {
    uint64_t network; /* 0: never used */
    int64_t noted_us;
};

/* Read for every request. */
_Static_assert(sizeof(struct familiar_entry[WAYS]) == LINE, "a set fills one cache line");

struct familiar {
    _Alignas(LINE) struct familiar_entry at[SETS][WAYS];
    uint64_t seed;
};

struct familiar *familiar_new(uint64_t seed)
{
    struct familiar *familiar = aligned_alloc(LINE, sizeof(*familiar));

    must(familiar != NULL);
    memset(familiar, 0, sizeof(*familiar));
    familiar->seed = seed;
    return familiar;
}

void familiar_free(struct familiar *familiar)
{
    free(familiar);
}

/* A network is at most a /48, the first 6 of 16 bytes. A /24 of IPv4 is in the 3 bytes after
   ::ffff. */
static uint64_t number_of(const struct address *address)
{
    const struct network wide = network_wide(address);
    uint64_t first = 0, last = 0;

    memcpy(&first, wide.base.b, 6);
    memcpy(&last, wide.base.b + 12, 3);
    return first | last << 24 | (uint64_t)wide.bits << 56;
}

static size_t set_of(const struct familiar *familiar, uint64_t network)
{
    uint8_t key[16] = {0};

    memcpy(key, &network, sizeof(network));
    return (size_t)(hash_key(key, familiar->seed) % SETS);
}

void familiar_note(struct familiar *familiar, const struct address *address, int64_t mono_us)
{
    uint64_t network = number_of(address);
    struct familiar_entry *set = familiar->at[set_of(familiar, network)];
    struct familiar_entry *chosen = &set[0];

    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].network == network) {
            set[i].noted_us = mono_us;
            return;
        }
        if (set[i].noted_us < chosen->noted_us)
            chosen = &set[i];
    }
    *chosen = (struct familiar_entry){.network = network, .noted_us = mono_us};
}

bool familiar_holds(const struct familiar *familiar, const struct address *address, int64_t mono_us)
{
    uint64_t network = number_of(address);
    const struct familiar_entry *set = familiar->at[set_of(familiar, network)];

    for (size_t i = 0; i < WAYS; i++)
        if (set[i].network == network)
            return mono_us - set[i].noted_us < LATELY_US;
    return false;
}

/*
 * key_cache - the keys this loop has met lately.
 *
 * What     Found by hash; bounded in number, those known and those not (so that made-up keys cannot
 *          drive out real ones). The least recently used key is evicted, unless it is referenced.
 * Owns     The keys. key_cache_get() holds one for its caller until key_cache_put().
 * Threads  The gateway's loop.
 */
#ifndef GATEWAY_KEY_CACHE_H
#define GATEWAY_KEY_CACHE_H

#include "services/gateway/key.h"

struct key_cache;

struct key_cache *key_cache_new(size_t known_max, size_t other_max);
void key_cache_free(struct key_cache *cache);

/* The key with this hash, made when there is none. */
struct key *key_cache_get(struct key_cache *cache, const uint8_t hash[SHA256_BYTES]);
void key_cache_hold(struct key *key);
/* Gives it back. Also moves it to its place after its state has changed. */
void key_cache_put(struct key_cache *cache, struct key *key);

/* A notice about an organization: all its keys, and those whose organization is not known yet. */
void key_cache_doubt(struct key_cache *cache, struct str organization_id);
/* Calls `visit` for every known key. */
void key_cache_each(struct key_cache *cache, void (*visit)(struct key *key, void *closure),
                    void *closure);

#endif

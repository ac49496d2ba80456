/*
 * key_cache - the API keys that a loop has seen lately, with access's answer for each and how long
 * that answer is valid.
 *
 * What     A key is identified by the SHA-256 of its token. The answer of access is used for 3
 *          seconds. From then on access is asked again in the background while the old answer still
 *          serves; from 5 seconds on, requests wait for the new answer. While access is
 *          unreachable, a known key stays valid until 60 seconds after its latest confirmation.
 *          After access fails to answer, it is not asked again for a second; there is no such pause
 *          if only the bus was down, since it may be back at any moment. A refusal is remembered
 *          for 5 seconds.
 *          The number of keys is bounded, separately for known and other keys, so that made-up keys
 *          cannot evict real ones. The least recently used key is evicted, unless it is referenced.
 * Owns     The cache owns its keys, and a key its record.
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_KEY_CACHE_H
#define SERVICES_GATEWAY_KEY_CACHE_H

#include <h2o.h>

#include "common/base/list.h"
#include "common/base/status.h"
#include "common/base/uuid.h"
#include "common/crypto/crypto.h"
#include "proto/outcome.h"
#include "services/gateway/key_record.h"
#include "services/gateway/quota.h"

struct gateway;

/* -- keys ------------------------------------------------------------------------------------ */

/* What a key was used for; key_usage.h reports it. */
struct usage_tally {
    struct list listed; /* linked while there are counts to report */
    int64_t minute;     /* Unix seconds / 60 */
    uint32_t outcomes[USAGE_OUTCOMES], latency[USAGE_BUCKETS];
};

enum key_state { KEY_NEW, KEY_KNOWN, KEY_REFUSED };

struct key {
    struct gateway *gateway; /* whose loop asks about the key */
    uint8_t hash[SHA256_BYTES];
    enum key_state state;
    int64_t confirmed_us; /* monotonic time of the request that produced the cached state */
    int64_t ask_again_us; /* monotonic: earliest next lookup after access was unreachable */
    bool stale;           /* a notice arrived since the last answer */

    /* The lookup in flight. */
    bool asking;
    bool is_budgeted; /* it counts against the lookup budget until it finds a key */
    int64_t asked_us;
    /* organization named by a notice received since the lookup began, "" = none */
    char overtaken_by[UUID_TEXT + 1];
    bool overtaken_again; /* notices named several organizations */
    struct list waiting;  /* API requests that wait for this lookup */

    struct key_record record;                /* KEY_KNOWN, and the latest one after that */
    struct quota_account requests, refusals; /* beyond the limits; see quota.h */
    uint32_t n_postponed;                    /* API requests in the loop's list; see postponed.h */
    int64_t drop_told;                       /* the last window with a log line about drops */

    int64_t used_s; /* Unix seconds: latest use */
    struct usage_tally tally;

    /* Private to the cache. */
    struct key *chain;
    struct list recency;
    bool listed_as_known;
    unsigned users;
};

enum key_result {
    KEY_GOOD,
    KEY_GOOD_ASK,     /* good, and due to be refreshed in the background */
    KEY_ASK,          /* wait for a lookup */
    KEY_BAD,          /* 401 */
    KEY_OUT_OF_REACH, /* access is unreachable and no answer is cached: 503 */
};

/* `can_ask`: the bus is up, so access may be asked. Otherwise only the cached answer counts, and
   the result is never KEY_ASK or KEY_GOOD_ASK. */
enum key_result key_check(const struct key *key, int64_t mono_us, int64_t now_s, bool can_ask);

/* The three ways in which a lookup that began at key->asked_us ends. */
void key_confirm(struct key *key, struct key_record *record); /* takes the record */
void key_refuse(struct key *key);
void key_unreachable(struct key *key, int64_t mono_us);
/* The bus is back: earlier failures to reach access no longer count. Notices may have been missed,
   so a record older than 5 seconds is looked up again before it is used. */
void key_reachable(struct key *key);
/* A notice named an organization that may be the key's: its record, or one being fetched, is no
   longer reliable. */
void key_doubt(struct key *key, struct str organization_id);
/* The answer may predate a notice that arrived after the question was sent. It does not if it is a
   record (NULL = a refusal) of an organization other than the only one named by notices. */
bool key_is_overtaken(const struct key *key, const struct key_record *record);

/* -- the cache ------------------------------------------------------------------------------- */

struct key_cache;

struct key_cache *key_cache_new(size_t known_max, size_t other_max);
void key_cache_free(struct key_cache *cache);

/* The key with this hash, created if absent; held for the caller until key_cache_put(). */
struct key *key_cache_get(struct key_cache *cache, const uint8_t hash[SHA256_BYTES]);
void key_cache_hold(struct key *key);
/* Releases the caller's hold. Also moves the key to the right list after its state has changed. */
void key_cache_put(struct key_cache *cache, struct key *key);

/* A notice named an organization: doubts all its keys, and all keys whose organization is
   unknown. */
void key_cache_doubt(struct key_cache *cache, struct str organization_id);
/* Calls `visit` for every known key. */
void key_cache_each(struct key_cache *cache, void (*visit)(struct key *key, void *closure),
                    void *closure);

#endif

/*
 * key_cache - the API keys that a loop has met lately, what access said of them, and for how long
 * that is relied on.
 *
 * What     A key is known by the SHA-256 of its token. What access said of it is relied on for 3
 *          seconds; then it is asked again while the old answer still serves; from 5 seconds on
 *          requests wait for the answer. While access is unreachable a known key stays good until
 *          60 seconds after its latest confirmation. That access did not answer is remembered for a
 *          second; that the bus was not there is not, for it may be in the next moment. A refusal
 *          is remembered for 5 seconds.
 *          Keys are bounded in number, those known and those not (so that made-up keys cannot drive
 *          out real ones). The least recently used key is evicted, unless it is referenced.
 * Owns     The cache owns its keys, a key its record, and a record its list of addresses.
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_KEY_CACHE_H
#define SERVICES_GATEWAY_KEY_CACHE_H

#include <h2o.h>

#include "common/base/cell.h"
#include "common/base/ip.h"
#include "common/base/status.h"
#include "common/base/uuid.h"
#include "common/crypto/crypto.h"
#include "common/json/json.h"
#include "services/gateway/key_usage.h"
#include "services/gateway/quota.h"

struct gateway;

/* -- what access answers --------------------------------------------------------------------- */

#define KEY_ADDRESSES_MAX 10000

struct key_record {
    char organization_id[UUID_TEXT + 1], api_key_id[UUID_TEXT + 1];
    bool may_write;
    bool plan_has_api, require_https, ip_allowlist_enabled;
    int64_t expires_at; /* Unix seconds; INT64_MAX = never */
    struct quota_limits limits;
    char cell[CELL_CAPACITY]; /* the organization's */
    struct address *addresses;
    size_t n_addresses;
};

/* False: not what the contract promises; *out is untouched. */
MUST_CHECK bool key_record_read(struct str json, struct key_record *out);
void key_record_release(struct key_record *record);
bool key_record_lists(const struct key_record *record, const struct address *address);

/* A count in a reply of access, a member of an object: a whole number from 0 to 2^31 - 1. False
   leaves *out untouched. */
MUST_CHECK bool count_read(const json_t *object, const char *name, uint32_t *out);

/* -- keys ------------------------------------------------------------------------------------ */

enum key_state { KEY_NEW, KEY_KNOWN, KEY_REFUSED };

struct key {
    struct gateway *gateway; /* which asks about it */
    uint8_t hash[SHA256_BYTES];
    enum key_state state;
    int64_t confirmed_us; /* monotonic time of the request that produced the cached state */
    int64_t ask_again_us; /* monotonic: not before, after access was unreachable */
    bool stale;           /* a notice said that something changed since */

    /* The look-up that is under way. */
    bool asking;
    bool is_budgeted; /* it is counted until it has found a key */
    int64_t asked_us;
    /* organization named by a notice received since it began, "" = none */
    char overtaken_by[UUID_TEXT + 1];
    bool overtaken_again;   /* notices named several organizations */
    h2o_linklist_t waiting; /* API requests that wait for it */

    struct key_record record; /* KEY_KNOWN, and the latest one after that */
    struct quota quota;
    bool leasing; /* a question for a lease is on its way */
    int64_t lease_window;
    h2o_linklist_t short_of; /* API requests that wait for a lease */
    uint32_t n_short_of;

    int64_t used_s; /* Unix seconds: latest use */
    struct usage_tally tally;

    /* The cache's own. */
    struct key *chain;
    h2o_linklist_t recency;
    bool listed_as_known;
    unsigned users;
};

enum key_result {
    KEY_GOOD,
    KEY_GOOD_ASK,     /* good; but time to ask again, in the background */
    KEY_ASK,          /* wait for an answer */
    KEY_BAD,          /* 401 */
    KEY_OUT_OF_REACH, /* access does not answer and nothing is known: 503 */
};

/* `can_ask`: access may be asked, for the bus is there; otherwise its earlier answer alone counts,
   and the result is none that asks. */
enum key_result key_check(const struct key *key, int64_t mono_us, int64_t now_s, bool can_ask);

/* The three ends of a look-up that began at key->asked_us. */
void key_confirm(struct key *key, struct key_record *record); /* takes the record */
void key_refuse(struct key *key);
void key_unreachable(struct key *key, int64_t mono_us);
/* The bus is back: an earlier failure to reach access counts no more. Notices may have been missed,
   so a record older than they would let it be is asked for again before it serves. */
void key_reachable(struct key *key);
/* A notice about an organization that may be the key's: its record, or one on its way, is no longer
   reliable. */
void key_doubt(struct key *key, struct str organization_id);
/* The answer may be older than a notice that came after its question; a record (NULL = a refusal)
   of another organization than the only one that notices were about is not. */
bool key_is_overtaken(const struct key *key, const struct key_record *record);

/* -- the cache ------------------------------------------------------------------------------- */

struct key_cache;

struct key_cache *key_cache_new(size_t known_max, size_t other_max);
void key_cache_free(struct key_cache *cache);

/* The key with this hash, made when there is none; held for the caller until key_cache_put(). */
struct key *key_cache_get(struct key_cache *cache, const uint8_t hash[SHA256_BYTES]);
void key_cache_hold(struct key *key);
/* Gives it back. Also moves it to its place after its state has changed. */
void key_cache_put(struct key_cache *cache, struct key *key);

/* A notice about an organization: all its keys, and those of an organization not known yet. */
void key_cache_doubt(struct key_cache *cache, struct str organization_id);
/* Calls `visit` for every known key. */
void key_cache_each(struct key_cache *cache, void (*visit)(struct key *key, void *closure),
                    void *closure);

/* -- familiar networks ----------------------------------------------------------------------- */

/* Networks from which a good key came within the last hour: API clients call from the same few
   networks (a /24, a /48) again and again. When made-up keys have used up what may be looked up, a
   key that was not met before is still looked up if it comes from one of these: see key_lookup.h. A
   table of fixed size, in which the network that was quiet for longest makes room. */
struct familiar;

/* `seed` is random, so that clients cannot aim at an entry. */
struct familiar *familiar_new(uint64_t seed);
void familiar_free(struct familiar *familiar);

/* A good key came from there. */
void familiar_note(struct familiar *familiar, const struct address *address, int64_t mono_us);
bool familiar_holds(const struct familiar *familiar, const struct address *address,
                    int64_t mono_us);

#endif

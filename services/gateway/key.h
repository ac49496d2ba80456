/*
 * key - what the gateway remembers of an API key, and for how long it may rely on it.
 *
 * What     A key is known by the SHA-256 of its token. What access said of it is relied on for 3
 *          seconds; then it is asked again while the old answer still serves; from 5 seconds on
 *          requests wait for the answer. While access is unreachable a known key stays good until
 *          60 seconds after its latest confirmation. That access did not answer is remembered for a
 *          second; that the bus was not there is not, for it may be in the next moment. A refusal
 *          is remembered for 5 seconds.
 * Owns     Its record's list of addresses; key_release() frees it.
 * Threads  The gateway's loop.
 */
#ifndef GATEWAY_KEY_H
#define GATEWAY_KEY_H

#include <h2o.h>

#include "common/base/address.h"
#include "common/base/status.h"
#include "common/base/uuid.h"
#include "common/crypto/crypto.h"
#include "services/gateway/key_usage.h"
#include "services/gateway/quota.h"

#define KEY_ADDRESSES_MAX 10000

/* What access answered. */
struct key_record {
    char organization_id[UUID_TEXT + 1], api_key_id[UUID_TEXT + 1];
    bool may_write;
    bool plan_has_api, require_https, ip_allowlist_enabled;
    int64_t expires_at; /* Unix seconds; INT64_MAX = never */
    struct quota_limits limits;
    struct address *addresses;
    size_t n_addresses;
};

/* False: not what the contract promises; *out is untouched. */
MUST_CHECK bool key_record_read(struct str json, struct key_record *out);
void key_record_release(struct key_record *record);
bool key_record_lists(const struct key_record *record, const struct address *address);

enum key_state { KEY_NEW, KEY_KNOWN, KEY_REFUSED };

struct gateway;

struct key {
    struct gateway *gateway; /* who asks about it */
    uint8_t hash[SHA256_BYTES];
    enum key_state state;
    int64_t confirmed_us; /* monotonic time of the request that produced the cached state */
    int64_t ask_again_us; /* monotonic: not before, after access was unreachable */
    bool stale;           /* a notice said that something changed since */
    bool asking;          /* a look-up is on its way */
    char overtaken_by[UUID_TEXT +
                      1]; /* organization named by a notice received during the lookup, "" = none */
    bool overtaken_again; /* notices named several organizations */
    bool is_budgeted;     /* that lookup is counted until it has found a key */
    int64_t asked_us;
    h2o_linklist_t waiting; /* API requests that wait for the look-up */

    struct key_record record; /* KEY_KNOWN, and the latest one after that */
    struct quota quota;
    bool leasing; /* a question for a lease is on its way */
    int64_t lease_window;
    h2o_linklist_t short_of; /* API requests that wait for a lease */
    uint32_t n_short_of;

    int64_t used_s; /* Unix seconds: latest use */
    struct usage_tally tally;

    /* key_cache's */
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

/* `can_ask`: access may be asked, for the bus is there; what it said before is checked without it
   otherwise, and the result is none that asks. */
enum key_result key_check(const struct key *key, int64_t mono_us, int64_t now_s, bool can_ask);

/* The three ends of a look-up that began at key->asked_us. */
void key_confirm(struct key *key, struct key_record *record); /* takes the record */
void key_refuse(struct key *key);
void key_unreachable(struct key *key, int64_t mono_us);
/* The bus is back: that access was unreachable says nothing any more. Notices may have been missed,
   so what is older than they would let it be is asked about before it serves again. */
void key_reachable(struct key *key);
/* A notice about an organization that may be the key's: what is known of it, or on its way, is no
   longer to be relied on. */
void key_doubt(struct key *key, struct str organization_id);
/* The answer may be older than a notice that came after its question; a record (NULL = a refusal)
   of another organization than the only one that notices were about is not. */
bool key_is_overtaken(const struct key *key, const struct key_record *record);

#endif

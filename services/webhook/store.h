/*
 * store - the sender's side of the tables: everything of one turn in one transaction.
 *
 * What     Settles attempts that have ended, prolongs the leases of others and hands back what
 *          else this process holds, recovers what a lost worker held, fans events out and claims
 * what can be sent now; in this order, so that slots that became free are claimed in the same turn.
 * Owns     store_new() gives what store_free() takes back. Claims live until the next turn.
 * Threads  One thread at a time.
 * Fails    store_turn(): as db_commit(). Nothing is claimed then as far as the caller is concerned;
 *          attempts that were to be settled can be handed in again, as often as need be.
 */
#ifndef SERVICES_WEBHOOK_STORE_H
#define SERVICES_WEBHOOK_STORE_H

#include "common/base/status.h"
#include "services/webhook/attempt.h"

struct store;

struct store_options {
    const char *database_url, *name;
    int lease_ms; /* a claim is taken for lost when it was not prolonged for so long */
};

struct store_ask {
    struct attempt *const *ended;
    size_t n_ended;
    struct str under_way; /* their fences, as PostgreSQL writes an array; STR_NONE = not now */
    bool recovers;
    bool fans_out;
    int slots, slots_proven, slots_other; /* free ones: in all, and for each kind of endpoint */
};

/* A delivery that is ours to attempt. */
struct claim {
    struct str organization_id, endpoint_id, id, fence;
    struct str event_id, event_type, data, url; /* no data: the event has been dropped */
    int64_t created_at;                         /* of the event, Unix seconds */
    bool signs;
    struct str sealed_secret; /* in hex */
    int64_t waited_us;        /* since it was queued */
};

struct store_told {
    const struct claim *claims;
    size_t n_claims;
    int64_t n_settled, n_handed_back, n_interrupted, n_quarantined, n_events, n_fanned;
    bool has_more_events;
};

/* NULL (logged): the URL cannot be parsed. */
struct store *store_new(const struct store_options *options);
void store_free(struct store *store);
/* Keeps the link up, waiting at most a moment. */
bool store_is_up(struct store *store);
MUST_CHECK enum status store_turn(struct store *store, const struct store_ask *ask,
                                  struct store_told *out);

#endif

/*
 * queue - the sender's side of the tables: all that it has to do, in one transaction; and a thread
 * that waits for the database, so that the sender does not.
 *
 * What     A transaction completes attempts that have ended, prolongs the claims of others and
 *          releases what else this process holds, recovers what a lost worker held, fans events out
 *          and claims what can be sent now; in this order, so that slots that became free are
 *          claimed at once.
 *          On the thread there is one transaction at a time: begun, and some time later ended.
 *          However long the database takes, the sender goes on reading answers meanwhile.
 * Owns     store_new() gives what store_free() takes back, store_thread_new() what
 *          store_thread_free() does. Claims live until the next transaction; what a request points
 *          to belongs to the transaction until it has ended.
 * Threads  A store is used by one thread at a time. A store_thread is the sender's; wake() is
 *          called from its own.
 * Fails    NULL (logged): the database's URL cannot be parsed. A transaction fails as db_commit();
 *          nothing is claimed then as far as the caller is concerned; attempts that were to be
 *          completed can be handed in again, as often as need be.
 */
#ifndef SERVICES_WEBHOOK_QUEUE_H
#define SERVICES_WEBHOOK_QUEUE_H

#include "common/base/status.h"
#include "services/webhook/attempts.h"

/* -- transactions ------------------------------------------------------------------------------ */

struct store;

struct store_options {
    const char *database_url, *name;
    int claim_ms; /* a claim expires when it was not prolonged for so long */
    int budget;   /* deliveries that an organization is given in a minute */
};

struct store_request {
    struct attempt *const *ended;
    size_t n_ended;
    struct str under_way; /* their fences, as PostgreSQL writes an array; STR_NONE = not now */
    bool recovers;
    bool fans_out;
    bool resends; /* takes in what was to be sent once more by the thousand */
    int slots, slots_proven, slots_other; /* free ones: in all, and for each kind of endpoint */
};

/* A delivery that is ours to attempt. */
struct delivery_claim {
    struct str organization_id, endpoint_id, id, fence;
    struct str event_id, event_type, data, url; /* no data: the event has been dropped */
    int64_t created_at;                         /* of the event, Unix seconds */
    bool signs;
    struct str sealed_secret; /* in hex */
    int64_t waited_us;        /* since it was queued */
};

/* Why a delivery is not even queued. */
enum store_skip { SKIP_DISABLED, SKIP_EXPIRED, SKIP_OVER_BUDGET, STORE_SKIPS };

struct store_result {
    const struct delivery_claim *claims;
    size_t n_claims;
    int64_t n_completed, n_released, n_interrupted, n_quarantined, n_events, n_fanned;
    int64_t n_skipped[STORE_SKIPS], n_unrecorded; /* of those fanned out */
    bool has_more_events, has_more_resends;
};

struct store *store_new(const struct store_options *options);
void store_free(struct store *store);
/* Keeps the link up, waiting at most a moment. */
bool store_is_up(struct store *store);
MUST_CHECK enum status store_transact(struct store *store, const struct store_request *request,
                                      struct store_result *out);

/* -- the thread -------------------------------------------------------------------------------- */

struct store_thread_options {
    const char *database_url, *name;
    int claim_ms, budget;
    void (*wake)(void *closure); /* a transaction has ended */
    void *closure;
};

struct store_transaction {
    struct store_request request;
    enum status st;
    struct store_result result; /* ST_OK */
    int64_t took_us;
};

struct store_thread;

struct store_thread *store_thread_new(const struct store_thread_options *options);
void store_thread_free(struct store_thread *self); /* waits for one that is under way */

/* There must be none under way. */
void store_thread_begin(struct store_thread *self, const struct store_request *request);
/* False: there is none, or it has not ended yet. */
bool store_thread_end(struct store_thread *self, struct store_transaction *out);

#endif

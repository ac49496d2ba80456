/*
 * queue - the sender's side of the tables: all that it has to do, in one transaction; and a thread
 * that waits for the database, so that the sender does not.
 *
 * What     A transaction completes attempts that have ended, prolongs the claims of others and
 *          releases what else this process holds, recovers what a lost worker held, fans events out,
 *          takes in resends and retries that are due, and claims what can be sent now; in this order,
 *          so that slots that became free are claimed at once.
 *          On the thread there is one transaction at a time: begun, and some time later ended.
 *          However long the database takes, the sender goes on reading answers meanwhile.
 * Owns     queue_new() gives what queue_free() takes back, queue_thread_new() what
 *          queue_thread_free() does. Claims live until the next transaction; what its wants point to
 *          belongs to a transaction until it has ended.
 * Threads  A queue is used by one thread at a time. A queue_thread is the sender's; wake() is
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

struct queue;

struct queue_options {
    const char *database_url, *name;
    int claim_ms; /* a claim expires when it was not prolonged for so long */
    int budget;   /* deliveries that an organization is given in a minute */
};

struct queue_wants {
    struct attempt *const *ended;
    size_t n_ended;
    struct str under_way; /* their fences, as PostgreSQL writes an array; STR_NONE = not now */
    bool recovers;
    bool fans_out;
    bool resends; /* takes in events of resend-failed, which come by the thousand */
    bool retries; /* takes in those that are due */
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
enum queue_skip { SKIP_DISABLED, SKIP_EXPIRED, SKIP_OVER_BUDGET, QUEUE_SKIPS };

struct queue_result {
    const struct delivery_claim *claims;
    size_t n_claims;
    int64_t n_completed, n_released, n_interrupted, n_quarantined, n_events, n_fanned;
    int64_t n_skipped[QUEUE_SKIPS], n_unrecorded; /* of those fanned out */
    int64_t n_scheduled, n_unscheduled;           /* of those completed: to be retried; too many */
    int64_t n_retried, n_dropped;                 /* of retries that were due */
    bool has_more_events, has_more_resends, has_more_retries;
};

struct queue *queue_new(const struct queue_options *options);
void queue_free(struct queue *queue);
/* Keeps the link up, waiting at most a moment. */
bool queue_is_up(struct queue *queue);
MUST_CHECK enum status queue_transact(struct queue *queue, const struct queue_wants *wants,
                                      struct queue_result *out);

/* -- the thread -------------------------------------------------------------------------------- */

struct queue_thread_options {
    const char *database_url, *name;
    int claim_ms, budget;
    void (*wake)(void *closure); /* a transaction has ended */
    void *closure;
};

struct queue_transaction {
    struct queue_wants wants;
    enum status st;
    struct queue_result result; /* ST_OK */
    int64_t took_us;
};

struct queue_thread;

struct queue_thread *queue_thread_new(const struct queue_thread_options *options);
void queue_thread_free(struct queue_thread *self); /* waits for one that is under way */

/* There must be none under way. */
void queue_thread_begin(struct queue_thread *self, const struct queue_wants *wants);
/* False: there is none, or it has not ended yet. */
bool queue_thread_end(struct queue_thread *self, struct queue_transaction *out);

#endif

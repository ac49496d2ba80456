/*
 * queue - the sender's database work, all in one transaction.
 *
 * What     A transaction completes attempts that have ended, renews the claims of the others,
 *          releases other claims of this process, recovers the claims of lost workers, fans out
 *          events, queues resends and due retries, and claims what can be sent now. It claims last,
 *          so that slots that have just become free are used at once.
 * Owns     queue_free() frees what queue_new() returns. Claims are valid until the next transaction.
 * Threads  One at a time.
 * Fails    NULL (logged): the database's URL cannot be parsed. A transaction fails as db_commit()
 *          does; it then returns no claims, and attempts that were to be completed can be passed
 *          again, any number of times.
 */
#ifndef SERVICES_WEBHOOK_QUEUE_H
#define SERVICES_WEBHOOK_QUEUE_H

#include "common/base/status.h"
#include "services/webhook/attempt.h"

struct queue;

struct queue_options {
    const char *database_url, *name;
    int claim_ms;            /* a claim that is not renewed for this long expires */
    int budget;              /* deliveries per organization and minute */
    int64_t wait_timeout_us; /* how long a claim may wait for attempts before it */
};

struct queue_wants {
    struct attempt *const *ended;
    size_t n_ended;
    struct str claimed;  /* fences of the claims in use, in PostgreSQL's array syntax; STR_NONE =
                            release no others */
    size_t n_given_back; /* claims that are not in use any more */
    bool renews;         /* the claims in use */
    bool recovers;
    bool fans_out;
    bool resends; /* queues the events of resend-failed, which may be thousands */
    bool retries; /* queues those that are due */
    int slots, slots_proven, slots_other; /* free ones: in all, and for each kind of endpoint */
};

/* A delivery that this process has claimed. */
struct delivery_claim {
    struct str organization_id, endpoint_id, id, fence;
    struct str event_id, event_type, data, url; /* no data: the event has been deleted */
    int64_t created_at;                         /* of the event, Unix seconds */
    bool signs;
    struct str sealed_secret; /* in hex */
    int64_t waited_us;        /* since it was queued */
};

/* Why a delivery was skipped instead of queued. */
enum queue_skip { SKIP_DISABLED, SKIP_EXPIRED, SKIP_OVER_BUDGET, QUEUE_SKIPS };

struct queue_result {
    const struct delivery_claim *claims;
    size_t n_claims;
    int64_t n_completed, n_released, n_interrupted, n_quarantined, n_events, n_fanned;
    int64_t n_skipped[QUEUE_SKIPS], n_unrecorded; /* of those fanned out */
    int64_t n_scheduled, n_unscheduled; /* retries of those completed; not, as too many wait */
    int64_t n_retried, n_dropped;       /* of retries that were due */
    bool has_more_events, has_more_resends, has_more_retries;
};

struct queue *queue_new(const struct queue_options *options);
void queue_free(struct queue *queue);
/* Reconnects if necessary, waiting at most 50 ms. */
bool queue_is_up(struct queue *queue);
MUST_CHECK enum status queue_transact(struct queue *queue, const struct queue_wants *wants,
                                      struct queue_result *out);

#endif

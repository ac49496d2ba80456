/*
 * sender - brings events to where they are wanted: a thread beside the actors.
 *
 * What     Transactions (queue.h) when there is something to complete, when a notice comes and once
 *          a second; all the time it minds look-ups and transfers (attempts.h). It never waits for
 *          a receiver, a name server or the database.
 * Owns     sender_start() gives what sender_stop() takes back.
 * Threads  Its own; sender_is_ready() from any. A schedule is pure, and of one thread at a time.
 * Fails    NULL (logged): an option is unusable.
 */
#ifndef SERVICES_WEBHOOK_SENDER_H
#define SERVICES_WEBHOOK_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/metrics.h"
#include "services/webhook/queue.h"
#include "services/webhook/webhook.h"

/* -- the sender -------------------------------------------------------------------------------- */

#define SENDER_SLOTS_MAX 1024

struct sender_options {
    const char *name, *bus_url, *database_url;
    const char *cell; /* whose notices it hears; NULL: main */
    const struct bus_tls *bus_tls;
    const char *dns_servers, *ca_file; /* NULL = the system's */
    int slots;                         /* deliveries under way at a time */
    int claim_ms; /* until the claims of a process that is not heard of expire */
    int budget;   /* deliveries that an organization is given in a minute */
    const struct webhook *webhook;
};

struct sender;

struct sender *sender_start(const struct sender_options *options);
bool sender_is_ready(struct sender *sender, char reason[128]);
/* Claims no more, lets attempts under way end and completes them: 10 seconds at most. */
void sender_stop(struct sender *sender);

/* -- when it begins its next transaction ------------------------------------------------------- */

/* When there is something to do: after a rest as long as the transaction before took, or longer, as
   requests that wait for an answer have the database first. Without a notice: every `poll_us`. All
   times as of clock_mono_us(). */
struct schedule {
    int64_t poll_us;
    int64_t work_due_us; /* when there is something to do */
    int64_t poll_due_us; /* in any case */
};

bool schedule_polls(const struct schedule *schedule, int64_t now_us);
bool schedule_is_due(const struct schedule *schedule, int64_t now_us, bool has_work);
int schedule_timeout_ms(const struct schedule *schedule, int64_t now_us, bool has_work);

/* A transaction has begun, and has ended. `is_idle`: no more is wanted, because everything sent has
   failed or a backlog is being fanned out. */
void schedule_begin(struct schedule *schedule, int64_t now_us);
void schedule_rest(struct schedule *schedule, int64_t now_us, int64_t took_us, bool is_idle);
void schedule_retry(struct schedule *schedule, int64_t now_us); /* it failed */

/* -- metrics ----------------------------------------------------------------------------------- */

struct sender_metrics {
    struct metric *results[FAILURES]; /* FAILURE_NONE: succeeded */
    struct metric *seconds;           /* of an attempt */
    struct metric *wait_seconds;      /* from queued to begun */
    struct metric *transaction_seconds;
    struct metric *under_way;
    struct metric *events, *fanned;
    struct metric *skipped[QUEUE_SKIPS], *unrecorded;
    struct metric *scheduled, *unscheduled, *retried, *dropped;
    struct metric *interrupted, *quarantined, *overtaken, *failed_transactions;
};

/* Once, before threads start; any of them may update the metrics. */
void sender_metrics_init(struct sender_metrics *metrics);

#endif

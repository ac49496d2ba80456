/*
 * sender - delivers events to endpoints, on a thread beside the actors.
 *
 * What     Begins a transaction (queue.h) when there is something to complete, when a notice
 *          arrives, and at least once a second. Meanwhile it drives lookups and transfers
 *          (attempts.h). It never blocks on a receiver, a name server or the database.
 * Owns     sender_stop() frees what sender_start() returns.
 * Threads  Its own; sender_is_ready() from any. A schedule is pure, used by one thread at a time.
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
    const char *cell; /* whose notices it receives; NULL: main */
    const struct bus_tls *bus_tls;
    const char *dns_servers, *ca_file; /* NULL = the system's */
    int slots;                         /* deliveries claimed at a time */
    int claim_ms;                      /* a claim that is not renewed for this long expires */
    int budget;                        /* deliveries per organization and minute */
    const struct webhook *webhook;
};

struct sender;

struct sender *sender_start(const struct sender_options *options);
bool sender_is_ready(struct sender *sender, char reason[128]);
/* Stops claiming, gives back what waits, lets attempts under way end and completes them; takes at
   most 10 seconds. */
void sender_stop(struct sender *sender);

/* -- when it begins its next transaction ------------------------------------------------------- */

/* If there is work: after a rest three times as long as the last transaction took, so that clients'
   requests get the database first and a transaction has more to do. Without work: every `poll_us`.
   All times are clock_mono_us(). */
struct schedule {
    int64_t poll_us;
    int64_t work_due_us; /* if there is work */
    int64_t poll_due_us; /* in any case */
};

bool schedule_polls(const struct schedule *schedule, int64_t now_us);
bool schedule_is_due(const struct schedule *schedule, int64_t now_us, bool has_work);
int schedule_timeout_ms(const struct schedule *schedule, int64_t now_us, bool has_work);

/* Called when a transaction has begun, and when it has ended. `is_idle`: no receiver waits, because
   everything sent has failed or a backlog is being fanned out; the rest is longer then. */
void schedule_begin(struct schedule *schedule, int64_t now_us);
void schedule_rest(struct schedule *schedule, int64_t now_us, int64_t took_us, bool is_idle);
void schedule_retry(struct schedule *schedule, int64_t now_us); /* it failed */

#endif

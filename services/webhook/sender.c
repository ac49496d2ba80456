#include "services/webhook/sender.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"
#include "common/bus/bus.h"
#include "proto/subject.h"
#include "services/webhook/attempts.h"
#include "services/webhook/queue_thread.h"
#include "services/webhook/schedule.h"
#include "services/webhook/sender_metrics.h"

enum {
    POLL_MAX_US = 1000 * 1000,
    STOP_US = 9500 * 1000,
    WAIT_MS = 1000,                /* for a transaction's end */
    COMPLAIN_US = 2 * 1000 * 1000, /* transactions fail for this long before that is logged */
};

struct sender {
    struct sender_options options;
    struct sender_metrics metrics;
    struct queue_thread *queue_thread;
    struct attempts *attempts;
    struct bus *bus;

    struct schedule schedule;
    bool is_waiting;            /* for a transaction's end */
    bool has_more;              /* the last transaction left work */
    bool has_more_resends;      /* resends remain to be queued */
    bool has_more_retries;      /* due retries remain to be queued */
    int64_t failing_since_us;   /* clock_mono_us(); 0 = the last transaction has not failed */
    bool has_complained;        /* the failures have been logged */
    int64_t recovers_from_us;   /* clock_mono_us() */
    int64_t claim_us, stale_us; /* claims of a transaction slower than stale_us are released */

    pthread_t thread;
    atomic_bool has_rung, is_stopping, queue_is_up;
};

/* -- a transaction ---------------------------------------------------------------------------- */

static void note(struct sender *sender, const struct queue_result *result,
                 const struct queue_wants *wants)
{
    const int64_t lost = result->n_released - (int64_t)wants->n_given_back;
    struct sender_metrics *metrics = &sender->metrics;

    metric_add(metrics->events, result->n_events);
    metric_add(metrics->fanned, result->n_fanned);
    for (int i = 0; i < QUEUE_SKIPS; i++)
        metric_add(metrics->skipped[i], result->n_skipped[i]);
    metric_add(metrics->unrecorded, result->n_unrecorded);
    metric_add(metrics->scheduled, result->n_scheduled);
    metric_add(metrics->unscheduled, result->n_unscheduled);
    metric_add(metrics->retried, result->n_retried);
    metric_add(metrics->dropped, result->n_dropped);
    metric_add(metrics->interrupted, result->n_interrupted);
    metric_add(metrics->quarantined, result->n_quarantined);
    metric_add(metrics->late_results, (int64_t)wants->n_ended - result->n_completed);
    if (result->n_unscheduled > 0)
        LOG(LOG_WARNING, "too many retries wait for an endpoint; further failures are not retried",
            log_int("failures", result->n_unscheduled));
    if (lost > 0)
        LOG(LOG_WARNING, "claims whose reply was lost were released", log_int("released", lost));
    if (result->n_interrupted > 0)
        LOG(LOG_WARNING, "delivery attempts interrupted by a worker crash",
            log_int("interrupted", result->n_interrupted));
    if (result->n_quarantined > 0)
        LOG(LOG_ERROR, "deliveries quarantined after crashing a worker three times",
            log_int("quarantined", result->n_quarantined));
}

static bool is_stopping(struct sender *sender)
{
    return atomic_load(&sender->is_stopping);
}

/* Proven endpoints may fill 7/8 of the slots, the others 3/4. */
static struct queue_wants next_wants(struct sender *sender, bool polls)
{
    const int all = sender->options.slots;
    const bool takes = !is_stopping(sender);
    struct queue_wants wants = {
        .n_given_back = attempts_given_back(sender->attempts),
        .renews = polls,
        /* After losing the database ourselves, wait before recovering the claims of other
           senders. */
        .recovers = polls && takes && clock_mono_us() >= sender->recovers_from_us,
        .fans_out = takes,
        .resends = takes && (polls || sender->has_more_resends),
        .retries = takes && (polls || sender->has_more_retries),
    };
    int busy;

    if (polls || wants.n_given_back > 0)
        wants.claimed = attempts_fences(sender->attempts);
    wants.ended = attempts_ended(sender->attempts, &wants.n_ended);
    busy = all - (int)(attempts_vacant(sender->attempts) + wants.n_ended);
    wants.slots = takes ? all - busy : 0;
    wants.slots_proven = all * 7 / 8 > busy ? all * 7 / 8 - busy : 0;
    wants.slots_other = all * 3 / 4 > busy ? all * 3 / 4 - busy : 0;
    return wants;
}

/* There is work, so that the next transaction need not wait for the poll. */
static bool has_work(struct sender *sender)
{
    size_t n_ended;

    attempts_ended(sender->attempts, &n_ended);
    return n_ended > 0 || attempts_given_back(sender->attempts) > 0 || sender->has_more ||
           atomic_load(&sender->has_rung);
}

static void begin_transaction(struct sender *sender)
{
    const int64_t now_us = clock_mono_us();
    struct queue_wants wants;

    if (sender->is_waiting || !schedule_is_due(&sender->schedule, now_us, has_work(sender)))
        return;
    atomic_store(&sender->has_rung, false);
    wants = next_wants(sender, schedule_polls(&sender->schedule, now_us));
    schedule_begin(&sender->schedule, now_us);
    sender->is_waiting = true;
    queue_thread_begin(sender->queue_thread, &wants);
}

static void fail_transaction(struct sender *sender, enum status st)
{
    const int64_t now_us = clock_mono_us();

    atomic_store(&sender->queue_is_up, false);
    sender->recovers_from_us = INT64_MAX;
    metric_add(sender->metrics.failed_transactions, 1);
    if (sender->failing_since_us == 0)
        sender->failing_since_us = now_us;
    if (!sender->has_complained && now_us - sender->failing_since_us >= COMPLAIN_US) {
        LOG(LOG_WARNING, "transactions of the sender fail; retrying",
            log_str("status", status_name(st)));
        sender->has_complained = true;
    }
    sender->has_more = true;
    schedule_retry(&sender->schedule, now_us);
}

/* Everything sent has failed, or a backlog is being fanned out: no receiver waits, but other users
   of the database may. */
static bool is_idle(const struct queue_wants *wants, bool has_more)
{
    for (size_t i = 0; i < wants->n_ended; i++) {
        if (wants->ended[i]->failure == FAILURE_NONE)
            return false;
    }
    return wants->n_ended > 0 || has_more;
}

static void apply_transaction(struct sender *sender, const struct queue_transaction *transaction)
{
    const struct queue_result *result = &transaction->result;

    if (!atomic_exchange(&sender->queue_is_up, true))
        sender->recovers_from_us = clock_mono_us() + sender->claim_us;
    sender->failing_since_us = 0;
    sender->has_complained = false;
    sender->has_more_resends = transaction->wants.resends && result->has_more_resends;
    sender->has_more_retries = transaction->wants.retries && result->has_more_retries;
    sender->has_more =
        result->has_more_events || sender->has_more_resends || sender->has_more_retries;
    note(sender, result, &transaction->wants);
    schedule_rest(&sender->schedule, clock_mono_us(), transaction->took_us,
                  is_idle(&transaction->wants, sender->has_more));
    attempts_forget_ended(sender->attempts, transaction->wants.n_ended);
    attempts_forget_given_back(sender->attempts, transaction->wants.n_given_back);
    for (size_t i = 0; i < result->n_claims && transaction->took_us < sender->stale_us; i++)
        attempts_take(sender->attempts, &result->claims[i]);
}

static void end_transaction(struct sender *sender)
{
    struct queue_transaction transaction;

    if (!sender->is_waiting || !queue_thread_end(sender->queue_thread, &transaction))
        return;
    sender->is_waiting = false;
    metric_observe(sender->metrics.transaction_seconds, transaction.took_us);
    if (transaction.st == ST_OK)
        apply_transaction(sender, &transaction);
    else
        fail_transaction(sender, transaction.st);
}

/* -- the thread ------------------------------------------------------------------------------- */

static void wait(struct sender *sender)
{
    const int socket = bus_socket(sender->bus);
    const int timeout_ms = schedule_timeout_ms(&sender->schedule, clock_mono_us(),
                                               has_work(sender) && !sender->is_waiting);
    struct pollfd fds[] = {
        {.fd = bus_changed_fd(sender->bus), .events = POLLIN},
        {.fd = socket, .events = POLLIN},
    };

    /* The end of a transaction ends the wait as well: on_transaction(). */
    attempts_wait(sender->attempts, fds, socket >= 0 ? 2 : 1,
                  sender->is_waiting ? WAIT_MS : timeout_ms);
    if (fds[0].revents != 0)
        bus_changed(sender->bus);
    else if (fds[1].revents != 0)
        bus_process(sender->bus);
    bus_flush(sender->bus);
}

static void step(struct sender *sender)
{
    watchdog_kick();
    wait(sender);
    end_transaction(sender);
    begin_transaction(sender);
}

/* No claim is left, nor one to release, nor a transaction that may make some. */
static bool is_done(const struct sender *sender)
{
    return !sender->is_waiting &&
           attempts_vacant(sender->attempts) == (size_t)sender->options.slots &&
           attempts_given_back(sender->attempts) == 0;
}

static void *run(void *closure)
{
    struct sender *sender = closure;
    int64_t until_us;

    watchdog_begin("sender");
    while (!is_stopping(sender))
        step(sender);
    until_us = clock_mono_us() + STOP_US;
    while (!is_done(sender) && clock_mono_us() < until_us) {
        attempts_give_back(sender->attempts);
        step(sender);
    }
    watchdog_end();
    return NULL;
}

/* On a thread of the bus. */
static void on_notice(void *closure, struct bus_message *message)
{
    struct sender *sender = closure;

    atomic_store(&sender->has_rung, true);
    attempts_wake(sender->attempts);
}

/* On the queue thread. */
static void on_transaction(void *closure)
{
    struct sender *sender = closure;

    attempts_wake(sender->attempts);
}

/* -- starting and stopping -------------------------------------------------------------------- */

static bool open_parts(struct sender *sender)
{
    char subject[CELL_SUBJECT_CAPACITY];

    const struct sender_options *options = &sender->options;

    sender->attempts = attempts_new(&(struct attempts_options){
        .dns_servers = options->dns_servers,
        .ca_file = options->ca_file,
        .slots = options->slots,
        .wait_timeout_us = sender->schedule.poll_us,
        .webhook = options->webhook,
        .metrics = &sender->metrics,
    });
    if (sender->attempts == NULL)
        return false;
    sender->queue_thread = queue_thread_new(&(struct queue_thread_options){
        .database_url = options->database_url,
        .name = options->name,
        .claim_ms = options->claim_ms,
        .budget = options->budget,
        .wait_timeout_us = sender->schedule.poll_us,
        .wake = on_transaction,
        .closure = sender,
    });
    if (sender->queue_thread == NULL)
        return false;
    sender->bus = bus_connect(&(struct bus_options){
        .url = options->bus_url,
        .name = options->name,
        .settings = options->bus_settings,
    });
    if (sender->bus != NULL)
        bus_listen(sender->bus, subject_in_cell(SUBJECT_NOTICE_EVENTS, options->cell, subject),
                   on_notice, sender);
    return sender->bus != NULL;
}

static void release(struct sender *sender)
{
    bus_free(sender->bus);
    queue_thread_free(sender->queue_thread);
    attempts_free(sender->attempts);
    free(sender);
}

struct sender *sender_start(const struct sender_options *options)
{
    struct sender *sender = heap_zeroed(1, sizeof(*sender));
    int failed;

    sender->options = *options;
    sender->recovers_from_us = INT64_MAX;
    sender->claim_us = options->claim_ms * INT64_C(1000);
    sender->stale_us = sender->claim_us * 3 / 5;
    sender->schedule.poll_us =
        sender->claim_us / 5 < POLL_MAX_US ? sender->claim_us / 5 : POLL_MAX_US;
    sender_metrics_init(&sender->metrics);
    if (!open_parts(sender)) {
        release(sender);
        return NULL;
    }
    failed = pthread_create(&sender->thread, NULL, run, sender);
    must(failed == 0);
    return sender;
}

bool sender_is_ready(struct sender *sender, char reason[128])
{
    if (atomic_load(&sender->queue_is_up))
        return true;
    snprintf(reason, 128, "%s", "the sender's database is unreachable");
    return false;
}

void sender_stop(struct sender *sender)
{
    int failed;

    atomic_store(&sender->is_stopping, true);
    attempts_wake(sender->attempts);
    failed = pthread_join(sender->thread, NULL);
    must(failed == 0);
    release(sender);
}

#include "services/webhook/sender.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/bus/bus.h"
#include "proto/subject.h"
#include "services/webhook/attempts.h"
#include "services/webhook/store.h"

enum {
    POLL_US = 1000 * 1000,    /* the safety net when no doorbell rings */
    REST_US = 4 * 1000,       /* between turns, at least */
    REST_LONG_US = 20 * 1000, /* the same, when nobody took what was sent */
    REST_MOST_US =
        50 * 1000,         /* and at most: a machine that is short of time must not fall behind */
    RETRY_US = 100 * 1000, /* after a turn that failed */
    /* A claim that took longer than this to come through is not begun but handed back. */
    STALE_US = 3 * 1000 * 1000,
    STOP_US = 9500 * 1000,
};

struct sender {
    struct sender_options options;
    struct sender_meters meters;
    struct store *store;
    struct attempts *attempts;
    struct bus *bus;

    bool has_more;   /* the last turn has left something undone */
    bool has_failed; /* and whether it failed */
    int64_t turn_due_us, poll_due_us, recovers_from_us; /* clock_mono_us() */

    pthread_t thread;
    atomic_bool has_rung, is_stopping, store_is_up;
};

/* -- a turn ----------------------------------------------------------------------------------- */

static void note(struct sender *sender, const struct store_told *told, size_t n_ended)
{
    struct sender_meters *meters = &sender->meters;

    metric_add(meters->events, told->n_events);
    metric_add(meters->fanned, told->n_fanned);
    metric_add(meters->interrupted, told->n_interrupted);
    metric_add(meters->quarantined, told->n_quarantined);
    metric_add(meters->overtaken, (int64_t)n_ended - told->n_settled);
    if (told->n_handed_back > 0)
        LOG(LOG_WARNING, "claims whose answer was lost were handed back",
            log_int("handed_back", told->n_handed_back));
    if (told->n_interrupted > 0)
        LOG(LOG_WARNING, "attempts were cut off by the loss of their worker",
            log_int("interrupted", told->n_interrupted));
    if (told->n_quarantined > 0)
        LOG(LOG_ERROR, "deliveries cost a worker three times and are put aside",
            log_int("quarantined", told->n_quarantined));
}

static bool is_stopping(struct sender *sender)
{
    return atomic_load(&sender->is_stopping);
}

/* Seven eighths for endpoints that have proven themselves, three quarters for the others. */
static struct store_ask next_ask(struct sender *sender, bool polls)
{
    const int all = sender->options.slots;
    const bool takes = !is_stopping(sender);
    struct store_ask ask = {
        .under_way = polls ? attempts_fences(sender->attempts) : STR_NONE,
        /* Whoever was cut off from the database himself leaves others the time to come back. */
        .recovers = polls && takes && clock_mono_us() >= sender->recovers_from_us,
        .fans_out = takes,
    };
    int busy;

    ask.ended = attempts_ended(sender->attempts, &ask.n_ended);
    busy = all - (int)(attempts_vacant(sender->attempts) + ask.n_ended);
    ask.slots = takes ? all - busy : 0;
    ask.slots_proven = all * 7 / 8 > busy ? all * 7 / 8 - busy : 0;
    ask.slots_other = all * 3 / 4 > busy ? all * 3 / 4 - busy : 0;
    return ask;
}

static void fail_turn(struct sender *sender, enum status st)
{
    atomic_store(&sender->store_is_up, false);
    metric_add(sender->meters.failed_turns, 1);
    if (!sender->has_failed)
        LOG(LOG_WARNING, "a turn of the sender failed, trying again",
            log_str("status", status_name(st)));
    sender->has_failed = true;
    sender->has_more = true;
    sender->turn_due_us = sender->poll_due_us = clock_mono_us() + RETRY_US;
}

/* As long as the turn took; twice as long when all that was sent failed, or a backlog is being
   fanned out: no receiver waits for that, while others wait for the database. */
static int64_t rest_us(const struct store_ask *ask, bool has_more, int64_t took_us)
{
    bool is_taken = ask->n_ended == 0 && !has_more;
    int64_t rest;

    for (size_t i = 0; i < ask->n_ended && !is_taken; i++)
        is_taken = ask->ended[i]->failure == FAILURE_NONE;
    rest = is_taken ? took_us : 2 * took_us;
    if (rest < (is_taken ? REST_US : REST_LONG_US))
        rest = is_taken ? REST_US : REST_LONG_US;
    return rest < REST_MOST_US ? rest : REST_MOST_US;
}

static void take_turn(struct sender *sender)
{
    const int64_t began_us = clock_mono_us();
    const bool polls = began_us >= sender->poll_due_us;
    const struct store_ask ask = next_ask(sender, polls);
    struct store_told told;
    enum status st;
    int64_t took_us, rest;

    atomic_store(&sender->has_rung, false);
    st = store_turn(sender->store, &ask, &told);
    took_us = clock_mono_us() - began_us;
    metric_observe(sender->meters.turn_seconds, took_us);
    if (st != ST_OK) {
        fail_turn(sender, st);
        return;
    }
    sender->has_failed = false;
    note(sender, &told, ask.n_ended);
    sender->has_more = told.has_more_events;
    rest = rest_us(&ask, sender->has_more, took_us);
    attempts_forget_ended(sender->attempts);
    for (size_t i = 0; i < told.n_claims && took_us < STALE_US; i++)
        attempts_begin(sender->attempts, &told.claims[i]);
    if (polls)
        sender->poll_due_us = began_us + POLL_US;
    sender->turn_due_us = clock_mono_us() + rest;
}

/* -- the thread ------------------------------------------------------------------------------- */

static bool wants_turn(struct sender *sender)
{
    size_t n_ended;

    attempts_ended(sender->attempts, &n_ended);
    return n_ended > 0 || sender->has_more || atomic_load(&sender->has_rung);
}

static int patience_ms(struct sender *sender)
{
    const int64_t due_us = wants_turn(sender) ? sender->turn_due_us : sender->poll_due_us;
    const int64_t left_us = due_us - clock_mono_us();

    return left_us > 0 ? (int)((left_us + 999) / 1000) : 0;
}

static void wait(struct sender *sender)
{
    const int socket = bus_socket(sender->bus);
    struct pollfd fds[] = {
        {.fd = bus_changed_fd(sender->bus), .events = POLLIN},
        {.fd = socket, .events = POLLIN},
    };

    attempts_wait(sender->attempts, fds, socket >= 0 ? 2 : 1, patience_ms(sender));
    if (fds[0].revents != 0)
        bus_changed(sender->bus);
    else if (fds[1].revents != 0)
        bus_process(sender->bus);
    bus_flush(sender->bus);
}

static void turn(struct sender *sender)
{
    bool was_up, is_up;
    int64_t now;

    wait(sender);
    now = clock_mono_us();
    if ((now < sender->turn_due_us || !wants_turn(sender)) && now < sender->poll_due_us)
        return;
    was_up = atomic_load(&sender->store_is_up);
    is_up = store_is_up(sender->store);
    atomic_store(&sender->store_is_up, is_up);
    if (is_up && !was_up)
        sender->recovers_from_us = clock_mono_us() + STORE_LEASE_S * INT64_C(1000000);
    if (is_up)
        take_turn(sender);
    else
        sender->turn_due_us = sender->poll_due_us = clock_mono_us() + RETRY_US;
}

static void *run(void *closure)
{
    struct sender *sender = closure;
    int64_t until_us;

    while (!is_stopping(sender))
        turn(sender);
    until_us = clock_mono_us() + STOP_US;
    while (attempts_vacant(sender->attempts) < (size_t)sender->options.slots &&
           clock_mono_us() < until_us)
        turn(sender);
    return NULL;
}

/* On a thread of the bus. */
static void on_doorbell(void *closure, struct bus_message *message)
{
    struct sender *sender = closure;

    atomic_store(&sender->has_rung, true);
    attempts_wake(sender->attempts);
}

/* -- starting and stopping -------------------------------------------------------------------- */

static bool open_parts(struct sender *sender)
{
    const struct sender_options *options = &sender->options;

    sender->attempts = attempts_new(&(struct attempts_options){
        .dns_servers = options->dns_servers,
        .ca_file = options->ca_file,
        .slots = options->slots,
        .webhook = options->webhook,
        .meters = &sender->meters,
    });
    sender->store = store_new(&(struct store_options){
        .database_url = options->database_url,
        .name = options->name,
    });
    if (sender->attempts == NULL || sender->store == NULL)
        return false;
    sender->bus = bus_connect(&(struct bus_options){
        .url = options->bus_url,
        .name = options->name,
        .tls = options->bus_tls,
    });
    if (sender->bus != NULL)
        bus_listen(sender->bus, SUBJECT_NOTICE_EVENTS, on_doorbell, sender);
    return sender->bus != NULL;
}

static void release(struct sender *sender)
{
    bus_free(sender->bus);
    store_free(sender->store);
    attempts_free(sender->attempts);
    free(sender);
}

struct sender *sender_start(const struct sender_options *options)
{
    struct sender *sender = calloc(1, sizeof(*sender));

    must(sender != NULL);
    sender->options = *options;
    sender_meters_init(&sender->meters);
    if (!open_parts(sender)) {
        release(sender);
        return NULL;
    }
    must(pthread_create(&sender->thread, NULL, run, sender) == 0);
    return sender;
}

bool sender_is_ready(struct sender *sender, char reason[128])
{
    if (atomic_load(&sender->store_is_up))
        return true;
    snprintf(reason, 128, "%s", "the sender's database is out of reach");
    return false;
}

void sender_stop(struct sender *sender)
{
    atomic_store(&sender->is_stopping, true);
    attempts_wake(sender->attempts);
    must(pthread_join(sender->thread, NULL) == 0);
    release(sender);
}

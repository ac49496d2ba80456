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
#include "services/webhook/pace.h"
#include "services/webhook/turns.h"

enum {
    POLL_MOST_US = 1000 * 1000,
    STOP_US = 9500 * 1000,
    WAIT_MS = 1000, /* for a turn's end */
    /* Turns that have failed for as long are worth a line in the log: a start and a blip are not.
     */
    COMPLAIN_US = 2 * 1000 * 1000,
};

struct sender {
    struct sender_options options;
    struct sender_meters meters;
    struct turns *turns;
    struct attempts *attempts;
    struct bus *bus;

    struct pace pace;
    bool is_waiting;            /* for a turn's end */
    bool has_more;              /* the last turn has left something undone */
    int64_t failing_since_us;   /* clock_mono_us(); 0 = the last turn has not failed */
    bool has_complained;        /* of that */
    int64_t recovers_from_us;   /* clock_mono_us() */
    int64_t lease_us, stale_us; /* a claim that took longer to come is not begun but handed back */

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

/* There is something to do besides looking whether there is. */
static bool has_work(struct sender *sender)
{
    size_t n_ended;

    attempts_ended(sender->attempts, &n_ended);
    return n_ended > 0 || sender->has_more || atomic_load(&sender->has_rung);
}

static void begin_turn(struct sender *sender)
{
    const int64_t now_us = clock_mono_us();
    struct store_ask ask;

    if (sender->is_waiting || !pace_is_due(&sender->pace, now_us, has_work(sender)))
        return;
    atomic_store(&sender->has_rung, false);
    ask = next_ask(sender, pace_polls(&sender->pace, now_us));
    pace_begin(&sender->pace, now_us);
    sender->is_waiting = true;
    turns_begin(sender->turns, &ask);
}

static void fail_turn(struct sender *sender, enum status st)
{
    const int64_t now_us = clock_mono_us();

    atomic_store(&sender->store_is_up, false);
    sender->recovers_from_us = INT64_MAX;
    metric_add(sender->meters.failed_turns, 1);
    if (sender->failing_since_us == 0)
        sender->failing_since_us = now_us;
    if (!sender->has_complained && now_us - sender->failing_since_us >= COMPLAIN_US) {
        LOG(LOG_WARNING, "turns of the sender fail, trying again",
            log_str("status", status_name(st)));
        sender->has_complained = true;
    }
    sender->has_more = true;
    pace_retry(&sender->pace, now_us);
}

/* All that was sent failed, or a backlog is being fanned out: no receiver waits for that, while
   others wait for the database. */
static bool is_idle(const struct store_ask *ask, bool has_more)
{
    for (size_t i = 0; i < ask->n_ended; i++) {
        if (ask->ended[i]->failure == FAILURE_NONE)
            return false;
    }
    return ask->n_ended > 0 || has_more;
}

static void mind_turn(struct sender *sender, const struct turn *turn)
{
    const struct store_told *told = &turn->told;

    if (!atomic_exchange(&sender->store_is_up, true))
        sender->recovers_from_us = clock_mono_us() + sender->lease_us;
    sender->failing_since_us = 0;
    sender->has_complained = false;
    sender->has_more = told->has_more_events;
    note(sender, told, turn->ask.n_ended);
    pace_rest(&sender->pace, clock_mono_us(), turn->took_us,
              is_idle(&turn->ask, told->has_more_events));
    attempts_forget_ended(sender->attempts, turn->ask.n_ended);
    for (size_t i = 0; i < told->n_claims && turn->took_us < sender->stale_us; i++)
        attempts_begin(sender->attempts, &told->claims[i]);
}

static void end_turn(struct sender *sender)
{
    struct turn turn;

    if (!sender->is_waiting || !turns_end(sender->turns, &turn))
        return;
    sender->is_waiting = false;
    metric_observe(sender->meters.turn_seconds, turn.took_us);
    if (turn.st == ST_OK)
        mind_turn(sender, &turn);
    else
        fail_turn(sender, turn.st);
}

/* -- the thread ------------------------------------------------------------------------------- */

static void wait(struct sender *sender)
{
    const int socket = bus_socket(sender->bus);
    const int patience_ms =
        pace_patience_ms(&sender->pace, clock_mono_us(), has_work(sender) && !sender->is_waiting);
    struct pollfd fds[] = {
        {.fd = bus_changed_fd(sender->bus), .events = POLLIN},
        {.fd = socket, .events = POLLIN},
    };

    /* A turn's end wakes, too. */
    attempts_wait(sender->attempts, fds, socket >= 0 ? 2 : 1,
                  sender->is_waiting ? WAIT_MS : patience_ms);
    if (fds[0].revents != 0)
        bus_changed(sender->bus);
    else if (fds[1].revents != 0)
        bus_process(sender->bus);
    bus_flush(sender->bus);
}

static void step(struct sender *sender)
{
    wait(sender);
    end_turn(sender);
    begin_turn(sender);
}

static void *run(void *closure)
{
    struct sender *sender = closure;
    int64_t until_us;

    while (!is_stopping(sender))
        step(sender);
    until_us = clock_mono_us() + STOP_US;
    while (attempts_vacant(sender->attempts) < (size_t)sender->options.slots &&
           clock_mono_us() < until_us)
        step(sender);
    return NULL;
}

/* On a thread of the bus. */
static void on_doorbell(void *closure, struct bus_message *message)
{
    struct sender *sender = closure;

    atomic_store(&sender->has_rung, true);
    attempts_wake(sender->attempts);
}

/* On the thread of turns. */
static void on_turn(void *closure)
{
    struct sender *sender = closure;

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
    if (sender->attempts == NULL)
        return false;
    sender->turns = turns_new(&(struct turns_options){
        .database_url = options->database_url,
        .name = options->name,
        .lease_ms = options->lease_ms,
        .wake = on_turn,
        .closure = sender,
    });
    if (sender->turns == NULL)
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
    turns_free(sender->turns);
    attempts_free(sender->attempts);
    free(sender);
}

struct sender *sender_start(const struct sender_options *options)
{
    struct sender *sender = calloc(1, sizeof(*sender));

    must(sender != NULL);
    sender->options = *options;
    sender->recovers_from_us = INT64_MAX;
    sender->lease_us = options->lease_ms * INT64_C(1000);
    sender->stale_us = sender->lease_us * 3 / 5;
    sender->pace.poll_us =
        sender->lease_us / 5 < POLL_MOST_US ? sender->lease_us / 5 : POLL_MOST_US;
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

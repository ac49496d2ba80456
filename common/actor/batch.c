#include <string.h>

#include "actor_sql.h"
#include "common/actor/actor_internal.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/params.h"

enum {
    /* How long a command that loses races or finds its rows locked is retried. */
    RACE_US = 500 * 1000,
    TRY_STEP_US = 1000, /* by which the pause between two tries grows */
    TRY_MAX_US = 50 * 1000,
    NEAR_US = 100 * 1000, /* no retry this close to the deadline */
    /* How long to search for the commands that make a batch fail. */
    SEARCH_US = 600 * 1000,
    /* How long LOCK_TIMEOUT_SHORT_MS applies after a wait for a lock has timed out. */
    SHORT_LOCKS_US = 2 * 1000 * 1000,
    LIST_CLOSED_US = 1000 * 1000,
};

#define UNIQUE_VIOLATION   "23505"
#define LOCK_NOT_AVAILABLE "55P03"
#define SERVED_ELSEWHERE   "CM001" /* cell.admit() */

/* -- one command ----------------------------------------------------------------------------- */

/* Only if it is certain that nothing was written. */
static void refuse_for_now(struct actor *actor, struct batch_item *item)
{
    batch_item_fail(item, OUTCOME_UNAVAILABLE);
    command_send_reply(actor, item);
}

/* The connection was lost, or the server could not serve. A command that cannot have changed any of
   the customer's data is never called uncertain. */
static void reply_lost(struct actor *actor, struct batch_item *item, enum status st)
{
    bool may_have_written =
        st == ST_UNCERTAIN && item->command.handler->writes && item->status == ST_OK;

    batch_item_fail(item, may_have_written ? OUTCOME_UNCERTAIN : OUTCOME_UNAVAILABLE);
    command_send_reply(actor, item);
}

/* The first retry is with the next batch, and each later one waits a little longer: a command gets
   many tries for a row that others change all the time, and few for one that stays locked. */
static int64_t pause_us(unsigned n_tries)
{
    const int64_t pause_us = (int64_t)(n_tries - 1) * TRY_STEP_US;

    return pause_us < TRY_MAX_US ? pause_us : TRY_MAX_US;
}

/* It lost a race, or its rows are locked: puts it back into the mailbox, and the batch continues
   without it. */
static void defer(struct actor *actor, struct batch_item *item)
{
    struct waiting *waiting = &item->waiting;
    int64_t now_us = clock_mono_us();

    if (waiting->n_tries++ == 0)
        waiting->lost_us = now_us;
    waiting->due_us = now_us + pause_us(waiting->n_tries);
    waiting->spent_us += FAIR_UNIT_US;
    if (waiting->due_us - waiting->lost_us < RACE_US &&
        item->command.deadline_us - clock_us() > NEAR_US &&
        fair_queue_put_back(&actor->queue, waiting)) {
        metric_add(actor->metrics->deferred, 1);
        return;
    }
    metric_add(actor->metrics->lock_refusals, 1);
    refuse_for_now(actor, item);
}

/* The audit sink refused a second entry for the same request: the gateway has given up waiting, and
   has answered and recorded it. Whatever the command did was rolled back with its entry. */
static bool is_recorded_already(const struct actor *actor)
{
    const struct audit_sink *audit_sink = actor->service->audit_sink;

    return audit_sink != NULL && audit_sink->entries != NULL &&
           strcmp(db_last_sqlstate(actor->batch->db), UNIQUE_VIOLATION) == 0 &&
           db_last_statement(actor->batch->db) == actor->audit_statements.entries;
}

static void drop_recorded(struct actor *actor, struct batch_item *item)
{
    LOG(LOG_INFO, "request was already answered and recorded; not run again",
        log_str("route", item->command.handler->subject), log_slice("request_id", item->request_id),
        log_trace(item->command.traceparent));
    command_drop(actor, item);
}

/* Other commands that need the rows that `refused` could not lock would fail to lock them, too. */
static bool wants_the_same(const struct batch_item *item, const struct batch_item *refused)
{
    return item->command.lock_order != 0 && item->command.handler->writes &&
           item->command.lock_order == refused->command.lock_order;
}

/* -- several --------------------------------------------------------------------------------- */

/* Keeps those whose deadline has not passed; returns how many. */
static size_t keep_unexpired(struct actor *actor, struct batch_item **items, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (batch_item_is_expired(items[i]))
            command_expire(actor, items[i]);
        else
            items[kept++] = items[i];
    return kept;
}

static void leave(struct actor *actor, struct batch_item *item)
{
    fair_queue_expect(item->waiting.flow, item->left);
    fair_queue_give_back(&actor->queue, &item->waiting, clock_mono_us());
    metric_add(actor->metrics->deferred, 1);
}

/* Sends their replies now, even if others of the batch are still to be retried. */
static void reply_to_settled(struct actor *actor, struct batch_item **items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (items[i]->left > 0)
            leave(actor, items[i]);
        else if (items[i]->status == ST_RETRY)
            defer(actor, items[i]);
        else
            command_send_reply(actor, items[i]);
    bus_push(actor->bus);
}

static bool is_locked(const struct actor *actor)
{
    return strcmp(db_last_sqlstate(actor->batch->db), LOCK_NOT_AVAILABLE) == 0;
}

/* Defers or answers the command whose statement failed; if the reason is permanent, keeps it so
   that its entry in the audit log is written. Returns how many are left. */
static size_t take_out(struct actor *actor, struct batch_item **items, size_t n,
                       struct batch_item *culprit, enum status st)
{
    const bool lacks_lock = is_locked(actor);
    size_t kept = 0;

    if (st == ST_INTERNAL && !culprit->has_failed) {
        culprit->has_failed = true;
        culprit->is_suspect = false;
        return n;
    }
    for (size_t i = 0; i < n; i++)
        if (items[i] != culprit && !(lacks_lock && wants_the_same(items[i], culprit)))
            items[kept++] = items[i];
        else if (st != ST_RETRY)
            refuse_for_now(actor, items[i]);
        else if (is_recorded_already(actor))
            drop_recorded(actor, items[i]);
        else
            defer(actor, items[i]);
    return kept;
}

/* Moves suspects behind the others; returns how many others there are. */
static size_t part(struct actor *actor, struct batch_item **items, size_t n)
{
    struct batch_item **suspects = ARENA_ARRAY(&actor->batch->arena, struct batch_item *, n);
    size_t n_suspects = 0, n_others = 0;

    for (size_t i = 0; i < n; i++)
        if (items[i]->is_suspect)
            suspects[n_suspects++] = items[i];
        else
            items[n_others++] = items[i];
    memcpy(items + n_others, suspects, n_suspects * sizeof(struct batch_item *));
    return n_others;
}

static bool is_link_lost(const struct actor *actor, enum status st)
{
    return st == ST_UNCERTAIN || !db_is_up(actor->batch->db);
}

static void note_failure(struct actor *actor)
{
    metric_add(actor->metrics->fallbacks, 1);
    if (!is_locked(actor))
        return;
    metric_add(actor->metrics->lock_refusals, 1);
    actor->short_locks_until_us = clock_mono_us() + SHORT_LOCKS_US;
}

/* True if one of them was put back, as it has already waited for its lock, and for a while after a
   wait for a lock has timed out. */
static bool locks_are_short(const struct actor *actor, struct batch_item *const *items, size_t n)
{
    bool locks_are_short = clock_mono_us() < actor->short_locks_until_us;

    for (size_t i = 0; i < n; i++)
        locks_are_short |= items[i]->waiting.n_tries > 0;
    return locks_are_short;
}

/* The search for the commands that make a batch fail. */
struct failure_search {
    int64_t until_us;
    int64_t in_vain_us; /* spent on commands that were found and taken out */
};

/* A wait for a lock is not charged: it has its own limit, and the debt would spread commands that
   need the same rows over several batches, each of which would wait for the lock again. */
static void charge(const struct actor *actor, struct failure_search *search,
                   struct batch_item *const *suspects, size_t n, int64_t took_us)
{
    if (!is_locked(actor))
        for (size_t i = 0; i < n; i++)
            suspects[i]->waiting.spent_us += took_us / (int64_t)n;
    if (n == 1)
        search->in_vain_us += took_us;
}

/* Refuses suspects and leaves the others to the next batch. Keeps those with a known failure, as
   their entries in the audit log take hardly any time. Returns how many are kept. */
static size_t give_up(struct actor *actor, struct batch_item **items, size_t n)
{
    const int64_t now_us = clock_mono_us();
    size_t kept = n;

    for (size_t i = n; i-- > 0;) /* from the last: each is put in front of the queue */
        if (items[i]->is_suspect)
            refuse_for_now(actor, items[i]);
        else if (items[i]->has_failed)
            items[--kept] = items[i];
        else
            fair_queue_give_back(&actor->queue, &items[i]->waiting, now_us);
    memmove(items, items + kept, (n - kept) * sizeof(struct batch_item *));
    return n - kept;
}

static void run(struct actor *actor, struct batch_item **items, size_t n,
                struct failure_search *search);

static bool is_closed(const struct db_rows *closed, const struct batch_item *item)
{
    struct uuid id;

    for (size_t i = 0; i < db_rows_count(closed); i++)
        if (uuid_parse(db_value(closed, i, LIST_CLOSED_ORGANIZATION_ID), &id) &&
            uuid_equal(&id, &item->command.caller.organization_id))
            return true;
    return false;
}

/* Refuses commands of organizations that another cell serves, or will in a moment; what they wrote
   was rolled back. A client that retries is served by the other cell. Returns how many are left. */
static size_t refuse_closed(struct actor *actor, struct batch_item **items, size_t n)
{
    const struct params none = {.n = 0};
    size_t kept = 0;

    if (actor->list_closed < 0 ||
        strcmp(db_last_sqlstate(actor->batch->db), SERVED_ELSEWHERE) != 0 ||
        db_once(actor->batch->db, actor->list_closed, &none, LIST_CLOSED_US) != ST_OK)
        return n;
    for (size_t i = 0; i < n; i++)
        if (is_closed(db_result(actor->batch->db, 0), items[i]))
            refuse_for_now(actor, items[i]);
        else
            items[kept++] = items[i];
    return kept;
}

/* They failed together: runs the others without the suspects, and several suspects in halves, until
   each is answered or deferred or the time is up. Returns how many must run again, with *items set
   to the first of them. */
static size_t recover(struct actor *actor, struct batch_item ***items, size_t n, enum status st,
                      int64_t took_us, struct failure_search *search)
{
    size_t n_others;

    note_failure(actor);
    if (is_link_lost(actor, st)) {
        for (size_t i = 0; i < n; i++)
            reply_lost(actor, (*items)[i], st);
        return 0;
    }
    n_others = refuse_closed(actor, *items, n);
    if (n_others < n)
        return n_others;
    n_others = part(actor, *items, n);
    charge(actor, search, *items + n_others, n - n_others, took_us);
    if (n - n_others == 1) {
        n = take_out(actor, *items, n, (*items)[n_others], st);
    } else {
        run(actor, *items, n_others, search);
        *items += n_others;
        n -= n_others;
        if (clock_mono_us() < search->until_us) {
            run(actor, *items, n / 2, search);
            *items += n / 2;
            n -= n / 2;
        }
    }
    if (clock_mono_us() >= search->until_us)
        n = give_up(actor, *items, n);
    return n;
}

/* Runs them together, and again while some are left. */
static void run(struct actor *actor, struct batch_item **items, size_t n,
                struct failure_search *search)
{
    while ((n = keep_unexpired(actor, items, n)) > 0) {
        const int64_t start_us = clock_mono_us();
        const enum status st = transaction_run(actor, items, n, locks_are_short(actor, items, n));

        if (st == ST_OK) {
            reply_to_settled(actor, items, n);
            return;
        }
        n = recover(actor, &items, n, st, clock_mono_us() - start_us, search);
    }
}

static int64_t earliest_deadline(struct batch_item *const *items, size_t n)
{
    int64_t earliest_us = INT64_MAX;

    for (size_t i = 0; i < n; i++)
        if (items[i]->command.deadline_us < earliest_us)
            earliest_us = items[i]->command.deadline_us;
    return earliest_us;
}

/* A late answer helps no client: if a batch ends after the deadline of any of its commands, later
   batches take half as many, and one more after each full batch that is in time. */
static void end(struct actor *actor, int64_t in_vain_us)
{
    struct batch *batch = actor->batch;

    actor->batch_us = clock_mono_us() - batch->start_us - in_vain_us;
    if (batch->deadline_us <= clock_us())
        actor->batch_now = (batch->n + 1) / 2;
    else if (batch->n >= actor->batch_now && batch->n < actor->options.batch_max)
        actor->batch_now++;
    arena_clear(&batch->arena);
    batch->phase = BATCH_IDLE;
}

/* Blocks the actor: failures are rare, and the search has a time limit. */
static void end_failed(struct actor *actor, enum status st)
{
    struct batch *batch = actor->batch;
    struct failure_search search = {.until_us = clock_mono_us() + SEARCH_US};
    struct batch_item **items = batch->items;
    size_t n = recover(actor, &items, batch->n, st, clock_mono_us() - batch->start_us, &search);

    run(actor, items, n, &search);
    end(actor, search.in_vain_us);
}

void batch_begin(struct actor *actor, struct batch_item **items, size_t n)
{
    struct batch *batch = actor->batch;
    enum status st;

    batch->items = items;
    batch->n = keep_unexpired(actor, items, n);
    batch->deadline_us = earliest_deadline(items, batch->n);
    batch->start_us = clock_mono_us();
    if (batch->n == 0) {
        arena_clear(&batch->arena);
        return;
    }
    batch->phase = BATCH_ASKED;
    st = transaction_ask(actor, items, batch->n, locks_are_short(actor, items, batch->n),
                         &batch->transaction);
    if (st != ST_OK)
        end_failed(actor, st);
    else if (db_is_ready(batch->db))
        batch_advance(actor);
}

static void commit(struct actor *actor)
{
    struct batch *batch = actor->batch;
    enum status st = transaction_commit(batch->transaction);

    if (st != ST_OK) {
        end_failed(actor, st);
        return;
    }
    reply_to_settled(actor, batch->items, batch->n);
    end(actor, 0);
}

static void answer(struct actor *actor)
{
    struct batch *batch = actor->batch;
    enum status st = transaction_answer(batch->transaction);

    if (st != ST_OK) {
        end_failed(actor, st);
        return;
    }
    batch->phase = BATCH_COMMITTING;
    if (db_is_ready(batch->db)) /* nothing was written */
        commit(actor);
}

static void ask_rest(struct actor *actor)
{
    struct batch *batch = actor->batch;
    bool was_sent;
    enum status st = transaction_ask_rest(batch->transaction, &was_sent);

    if (st != ST_OK) {
        end_failed(actor, st);
        return;
    }
    batch->phase = BATCH_ASKED_REST;
    if (!was_sent || db_is_ready(batch->db))
        answer(actor);
}

void batch_advance(struct actor *actor)
{
    if (actor->batch->phase == BATCH_ASKED)
        ask_rest(actor);
    else if (actor->batch->phase == BATCH_ASKED_REST)
        answer(actor);
    else
        commit(actor);
}

#include "common/actor/batch_recover.h"

#include <string.h>

#include "actor_sql.h"
#include "common/actor/actor_internal.h"
#include "common/actor/command_reply.h"
#include "common/actor/transaction.h"
#include "common/base/clock.h"
#include "common/base/log.h"

enum {
    /* How long to search for the commands that make a batch fail. */
    SEARCH_US = 600 * 1000,
    LIST_CLOSED_US = 1000 * 1000,
};

#define UNIQUE_VIOLATION   "23505"
#define LOCK_NOT_AVAILABLE "55P03"
#define SERVED_ELSEWHERE   "CM001" /* cell.admit() */

/* -- one command ----------------------------------------------------------------------------- */

/* Only if it is certain that nothing was written. */
static void refuse(struct batch *batch, struct batch_item *item)
{
    command_reply_failed(batch, item, OUTCOME_UNAVAILABLE);
}

/* The connection was lost, or the server could not serve. A command that cannot have changed any of
   the customer's data is never called uncertain. */
static void reply_lost(struct batch *batch, struct batch_item *item, enum status st)
{
    bool may_have_written =
        st == ST_UNCERTAIN && item->command.handler->writes && item->status == ST_OK;

    command_reply_failed(batch, item, may_have_written ? OUTCOME_UNCERTAIN : OUTCOME_UNAVAILABLE);
}

/* The audit sink refused a second entry for the same request: the gateway has given up waiting, and
   has answered and recorded it. Whatever the command did was rolled back with its entry. */
static bool has_entry_already(const struct batch *batch)
{
    const struct audit_sink *audit_sink = batch->actor->service->audit_sink;

    return audit_sink != NULL && audit_sink->entries != NULL &&
           strcmp(db_last_sqlstate(batch->db), UNIQUE_VIOLATION) == 0 &&
           db_last_statement(batch->db) == batch->actor->database.audit.entries;
}

static void drop_recorded(struct batch *batch, struct batch_item *item)
{
    LOG(LOG_INFO, "request was already answered and recorded; not run again",
        log_str("route", item->command.handler->subject), log_slice("request_id", item->request_id),
        log_trace(item->command.traceparent));
    command_end(batch, item);
}

/* Other commands that need the rows that `refused` could not lock would fail to lock them, too. */
static bool wants_the_same(const struct batch_item *item, const struct batch_item *refused)
{
    return item->command.lock_order != 0 && item->command.handler->writes &&
           item->command.lock_order == refused->command.lock_order;
}

/* -- several --------------------------------------------------------------------------------- */

static bool is_locked(const struct batch *batch)
{
    return strcmp(db_last_sqlstate(batch->db), LOCK_NOT_AVAILABLE) == 0;
}

/* Defers or answers the command whose statement failed; if the reason is permanent, keeps it so
   that its entry in the audit log is written. Returns how many are left. */
static size_t take_out(struct batch *batch, struct batch_item **items, size_t n,
                       struct batch_item *culprit, enum status st)
{
    const bool lacks_lock = is_locked(batch);
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
            refuse(batch, items[i]);
        else if (has_entry_already(batch))
            drop_recorded(batch, items[i]);
        else
            command_defer(batch, items[i]);
    return kept;
}

/* Moves suspects behind the others; returns how many others there are. */
static size_t part(struct batch *batch, struct batch_item **items, size_t n)
{
    struct batch_item **suspects = ARENA_ARRAY(&batch->arena, struct batch_item *, n);
    size_t n_suspects = 0, n_others = 0;

    for (size_t i = 0; i < n; i++)
        if (items[i]->is_suspect)
            suspects[n_suspects++] = items[i];
        else
            items[n_others++] = items[i];
    memcpy(items + n_others, suspects, n_suspects * sizeof(struct batch_item *));
    return n_others;
}

static bool is_link_lost(const struct batch *batch, enum status st)
{
    return st == ST_UNCERTAIN || !db_is_up(batch->db);
}

static void note_failure(struct batch *batch)
{
    metric_add(batch->actor->metrics->fallbacks, 1);
    if (is_locked(batch))
        metric_add(batch->actor->metrics->lock_refusals, 1);
}

/* A wait for a lock is not charged: it has its own limit, and the debt would spread commands that
   need the same rows over several batches, each of which would wait for the lock again. */
static void charge(const struct batch *batch, struct batch_item *const *suspects, size_t n,
                   int64_t took_us)
{
    if (!is_locked(batch))
        for (size_t i = 0; i < n; i++)
            suspects[i]->waiting->spent_us += took_us / (int64_t)n;
}

/* Refuses suspects and leaves the others to the next batch. Keeps those with a known failure, as
   their entries in the audit log take hardly any time. Returns how many are kept. */
static size_t give_up(struct batch *batch, struct batch_item **items, size_t n)
{
    size_t kept = n;

    for (size_t i = n; i-- > 0;) /* from the last: each is put in front of the queue */
        if (items[i]->is_suspect)
            refuse(batch, items[i]);
        else if (items[i]->has_failed)
            items[--kept] = items[i];
        else
            fair_queue_give_back(&batch->actor->queue, items[i]->waiting);
    memmove(items, items + kept, (n - kept) * sizeof(struct batch_item *));
    return n - kept;
}

static void run(struct batch *batch, struct batch_item **items, size_t n, int64_t until_us);

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
static size_t refuse_closed(struct batch *batch, struct batch_item **items, size_t n)
{
    const int list_closed = batch->actor->database.list_closed;
    size_t kept = 0;

    if (list_closed < 0 || strcmp(db_last_sqlstate(batch->db), SERVED_ELSEWHERE) != 0 ||
        db_once(batch->db, list_closed, NULL, LIST_CLOSED_US) != ST_OK)
        return n;
    for (size_t i = 0; i < n; i++)
        if (is_closed(db_result(batch->db, 0), items[i]))
            refuse(batch, items[i]);
        else
            items[kept++] = items[i];
    return kept;
}

/* They failed together: runs the others without the suspects, and several suspects in halves, until
   each is answered or deferred or the time is up. Returns how many must run again, with *items set
   to the first of them. */
static size_t recover(struct batch *batch, struct batch_item ***items, size_t n, enum status st,
                      int64_t took_us, int64_t until_us)
{
    size_t n_others;

    note_failure(batch);
    if (is_link_lost(batch, st)) {
        for (size_t i = 0; i < n; i++)
            reply_lost(batch, (*items)[i], st);
        return 0;
    }
    n_others = refuse_closed(batch, *items, n);
    if (n_others < n)
        return n_others;
    n_others = part(batch, *items, n);
    charge(batch, *items + n_others, n - n_others, took_us);
    if (n - n_others == 1) {
        n = take_out(batch, *items, n, (*items)[n_others], st);
    } else {
        run(batch, *items, n_others, until_us);
        *items += n_others;
        n -= n_others;
        if (clock_mono_us() < until_us) {
            run(batch, *items, n / 2, until_us);
            *items += n / 2;
            n -= n / 2;
        }
    }
    if (clock_mono_us() >= until_us)
        n = give_up(batch, *items, n);
    return n;
}

/* Runs them together, and again while some are left. */
static void run(struct batch *batch, struct batch_item **items, size_t n, int64_t until_us)
{
    while ((n = commands_keep_unexpired(batch, items, n)) > 0) {
        const int64_t start_us = clock_mono_us();
        enum status st = transaction_begin(batch, items, n);

        while (st == ST_OK && batch->phase != BATCH_IDLE)
            st = transaction_advance(batch);
        if (st == ST_OK) {
            commands_settle(batch, items, n);
            return;
        }
        n = recover(batch, &items, n, st, clock_mono_us() - start_us, until_us);
    }
}

void batch_recover(struct batch *batch, enum status st)
{
    const int64_t until_us = clock_mono_us() + SEARCH_US;
    struct batch_item **items = batch->items;
    size_t n = recover(batch, &items, batch->n, st, clock_mono_us() - batch->start_us, until_us);

    run(batch, items, n, until_us);
}

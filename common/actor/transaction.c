#include "common/actor/transaction.h"

#include <stdlib.h>

#include "common/actor/actor_internal.h"
#include "common/base/clock.h"
#include "common/db/params.h"

/* -- owners of statements -------------------------------------------------------------------- */

/* The statements of a batch up to `end` that have no earlier owner: one command, all commands of a
   handler, or all commands. */
struct owner {
    size_t end;
    const struct batch_item *item;
    const struct command_handler *handler;
};

/* The commands passed to the audit sink, and the first statement that it added. */
struct records {
    struct command **commands;
    size_t n, statement;
};

struct transaction {
    struct batch *batch;
    struct batch_item **items;
    size_t n;
    struct owner *owners;
    size_t n_owners;
    int64_t sent_us;  /* when something was last sent */
    int64_t asked_us; /* how long the first round trip took */
    struct records records;
};

/* Records the owner of what was added since the last call. NULL and NULL: the whole batch. */
static void add_owner(struct transaction *transaction, const struct batch_item *item,
                      const struct command_handler *handler)
{
    transaction->owners[transaction->n_owners++] =
        (struct owner){.end = db_added(transaction->batch->db), .item = item, .handler = handler};
}

static bool owns(const struct owner *owner, const struct batch_item *item)
{
    if (owner->item != NULL)
        return owner->item == item;
    return owner->handler == NULL || owner->handler == item->command.handler;
}

/* Marks the owner of the statement that failed. If no statement in particular failed, all are
   suspects. */
static void suspect(const struct transaction *transaction)
{
    const size_t at = db_last_entry(transaction->batch->db);
    const struct owner *owner = &(struct owner){0};

    for (size_t i = transaction->n_owners; i-- > 0 && at != DB_NO_ENTRY;)
        if (transaction->owners[i].end > at)
            owner = &transaction->owners[i];
    for (size_t i = 0; i < transaction->n; i++)
        transaction->items[i]->is_suspect = owns(owner, transaction->items[i]);
}

static void suspect_one(const struct transaction *transaction, struct batch_item *culprit)
{
    for (size_t i = 0; i < transaction->n; i++)
        transaction->items[i]->is_suspect = transaction->items[i] == culprit;
}

/* -- the steps ------------------------------------------------------------------------------- */

static int by_lock_order(const void *a, const void *b)
{
    const struct batch_item *x = *(struct batch_item *const *)a,
                            *y = *(struct batch_item *const *)b;

    if (x->command.lock_order != y->command.lock_order)
        return x->command.lock_order < y->command.lock_order ? -1 : 1;
    return x->arrival < y->arrival ? -1 : x->arrival > y->arrival;
}

/* A batch waits for the server until the latest deadline of its commands. */
static int64_t latest_deadline(struct batch_item *const *items, size_t n)
{
    int64_t latest_us = 0;

    for (size_t i = 0; i < n; i++)
        if (items[i]->command.deadline_us > latest_us)
            latest_us = items[i]->command.deadline_us;
    return latest_us;
}

static bool is_settled(const struct batch_item *item)
{
    return item->status == ST_OK || item->status == ST_REFUSED;
}

static void parse(const struct service *service, struct batch_item *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!items[i]->has_failed)
            items[i]->status = command_begin(&items[i]->command, service->self);
        items[i]->has_failed |= !is_settled(items[i]);
        if (items[i]->has_failed) {
            command_fail(&items[i]->command, OUTCOME_SERVER_ERROR);
            items[i]->status = ST_REFUSED;
        }
    }
}

static void query_together(struct transaction *transaction, const struct command_handler *handler)
{
    struct batch *batch = transaction->batch;
    struct command **together = ARENA_ARRAY(&batch->arena, struct command *, transaction->n);
    size_t n_together = 0;

    for (size_t i = 0; i < transaction->n; i++) {
        struct batch_item *item = transaction->items[i];

        if (item->command.handler == handler && item->status == ST_OK)
            together[n_together++] = &item->command;
    }
    if (n_together > 0)
        handler->query_together(together, n_together, batch->db, batch->actor->service->self);
    add_owner(transaction, NULL, handler);
}

/* If this batch would hold too much, commands that only read can run again with the next one, so
   their results may be dropped; but not those of the first, so that each batch answers at least
   one. */
static void query(struct transaction *transaction)
{
    const struct actor *actor = transaction->batch->actor;
    const struct service *service = actor->service;
    struct db *db = transaction->batch->db;
    bool has_read = false;

    for (size_t i = 0; i < transaction->n; i++) {
        struct batch_item *item = transaction->items[i];
        const struct command_handler *handler = item->command.handler;
        const bool only_reads = !handler->writes;

        item->entries_begin = db_added(db);
        db_add_spare(db, only_reads && has_read ? actor->queue.batch_bytes : 0);
        if (item->status == ST_OK && handler->query != NULL)
            handler->query(&item->command, db, service->self);
        item->entries_end = db_added(db);
        has_read |= only_reads && item->entries_end > item->entries_begin;
        add_owner(transaction, item, NULL);
    }
    db_add_spare(db, 0);
    for (size_t i = 0; i < service->n_handlers; i++)
        if (service->handlers[i]->query_together != NULL)
            query_together(transaction, service->handlers[i]);
}

static size_t dropped_of(const struct transaction *transaction, const struct batch_item *item)
{
    size_t bytes = 0;

    for (size_t i = item->entries_begin; i < item->entries_end; i++)
        bytes += db_dropped(transaction->batch->db, i);
    return bytes;
}

/* Statements that the reply hook queues belong to this item, but the run may include those of
   others, too. */
static enum status reply(struct transaction *transaction, struct batch_item *item)
{
    struct db *db = transaction->batch->db;
    enum status st;

    item->dropped = dropped_of(transaction, item);
    if (item->dropped > 0) {
        item->status = ST_RETRY;
        item->waiting->spent_us += transaction->asked_us / (int64_t)transaction->n;
    } else if (item->status == ST_OK) {
        item->status = command_finish(&item->command, db, transaction->batch->actor->service->self);
    }
    add_owner(transaction, item, NULL);
    st = db_failure(db);
    if (st != ST_OK) {
        suspect(transaction);
        if (db_last_entry(db) == DB_NO_ENTRY)
            suspect_one(transaction, item);
        return st;
    }
    if (is_settled(item) || item->status == ST_RETRY)
        return ST_OK;
    /* Its statements may have written something that was not checked. */
    suspect_one(transaction, item);
    return ST_INTERNAL;
}

static struct records record(struct transaction *transaction)
{
    struct batch *batch = transaction->batch;
    const struct audit_sink *audit_sink = batch->actor->service->audit_sink;
    struct records records = {.statement = db_added(batch->db)};

    if (audit_sink == NULL)
        return records;
    records.commands = ARENA_ARRAY(&batch->arena, struct command *, transaction->n);
    for (size_t i = 0; i < transaction->n; i++)
        if (transaction->items[i]->status != ST_RETRY)
            records.commands[records.n++] = &transaction->items[i]->command;
    if (records.n > 0)
        audit_sink->add(batch->db, &batch->actor->database.audit, records.commands, records.n,
                        &batch->arena);
    return records;
}

static void call_on_commit(const struct batch *batch, const struct records *records)
{
    const struct audit_sink *audit_sink = batch->actor->service->audit_sink;

    if (audit_sink != NULL && audit_sink->on_commit != NULL &&
        db_added(batch->db) > records->statement)
        audit_sink->on_commit(db_result(batch->db, records->statement), records->commands,
                              records->n);
}

/* -- all of it ------------------------------------------------------------------------------- */

static bool has_put_back(const struct transaction *transaction)
{
    for (size_t i = 0; i < transaction->n; i++)
        if (transaction->items[i]->waiting->n_tries > 0)
            return true;
    return false;
}

/* Commands that were put back have already waited for their locks. */
static void limit_lock_waits(const struct transaction *transaction)
{
    struct batch *batch = transaction->batch;

    if (has_put_back(transaction))
        db_add(batch->db, batch->actor->database.limit_lock_waits,
               PARAMS(param_int(&batch->arena, LOCK_TIMEOUT_SHORT_MS)));
}

/* The owner of the first statement that failed becomes the suspect. */
static enum status blame(const struct transaction *transaction, enum status st)
{
    if (st != ST_OK)
        suspect(transaction);
    return st;
}

enum status transaction_begin(struct batch *batch, struct batch_item **items, size_t n)
{
    const struct service *service = batch->actor->service;
    struct transaction *transaction = ARENA_ARRAY(&batch->arena, struct transaction, 1);

    *transaction = (struct transaction){.batch = batch, .items = items, .n = n};
    batch->transaction = transaction;
    batch->phase = BATCH_ASKED;
    metric_observe(batch->actor->metrics->batch_size, (int64_t)n);
    transaction->owners = ARENA_ARRAY(&batch->arena, struct owner, 3 * n + service->n_handlers + 2);
    parse(service, items, n);
    qsort(items, n, sizeof(struct batch_item *), by_lock_order);
    db_open_batch(batch->db, latest_deadline(items, n));
    limit_lock_waits(transaction);
    add_owner(transaction, NULL, NULL);
    query(transaction);
    transaction->sent_us = clock_mono_us();
    return blame(transaction, db_send_run(batch->db));
}

/* Skips commands whose results were dropped: they run again as a whole. */
static enum status ask_rest(struct transaction *transaction, bool *was_sent)
{
    void *service = transaction->batch->actor->service->self;
    struct db *db = transaction->batch->db;
    enum status st = db_run(db);
    const size_t n_added = db_added(db);

    *was_sent = false;
    transaction->asked_us = clock_mono_us() - transaction->sent_us;
    if (st != ST_OK)
        return st;
    for (size_t i = 0; i < transaction->n; i++) {
        struct batch_item *item = transaction->items[i];

        if (dropped_of(transaction, item) > 0)
            continue;
        if (item->status == ST_OK && item->command.handler->query_rest != NULL)
            item->command.handler->query_rest(&item->command, db, service);
        add_owner(transaction, item, NULL);
    }
    *was_sent = db_added(db) > n_added;
    return *was_sent ? db_send_run(db) : ST_OK;
}

/* The audit sink's statements go out with the commit, in one round trip. */
static enum status reply_and_commit(struct transaction *transaction)
{
    struct db *db = transaction->batch->db;
    enum status st = db_run(db);

    if (st != ST_OK)
        return blame(transaction, st);
    for (size_t i = 0; i < transaction->n; i++) {
        st = reply(transaction, transaction->items[i]);
        if (st != ST_OK) {
            db_abandon(db);
            return st;
        }
    }
    transaction->records = record(transaction);
    add_owner(transaction, NULL, NULL);
    transaction->sent_us = clock_mono_us();
    return blame(transaction, db_send_commit(db));
}

static enum status commit(struct transaction *transaction)
{
    struct batch *batch = transaction->batch;
    enum status st = db_commit(batch->db);

    metric_observe(batch->actor->metrics->commit_seconds, clock_mono_us() - transaction->sent_us);
    if (st == ST_OK)
        call_on_commit(batch, &transaction->records);
    return blame(transaction, st);
}

enum status transaction_advance(struct batch *batch)
{
    struct transaction *transaction = batch->transaction;
    bool was_sent = false;
    enum status st = ST_OK;

    if (batch->phase == BATCH_COMMITTING) {
        batch->phase = BATCH_IDLE;
        return commit(transaction);
    }
    if (batch->phase == BATCH_ASKED) {
        batch->phase = BATCH_ASKED_REST;
        st = blame(transaction, ask_rest(transaction, &was_sent));
    }
    if (st != ST_OK || was_sent)
        return st;
    batch->phase = BATCH_COMMITTING;
    return reply_and_commit(transaction);
}

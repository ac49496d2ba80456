/* Runs commands as one transaction and, if it fails, marks the commands that may have caused it. */
#include <stdlib.h>

#include "actor_sql.h"
#include "common/actor/actor_internal.h"
#include "common/base/clock.h"

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
    struct actor *actor;
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
    transaction->owners[transaction->n_owners++] = (struct owner){
        .end = db_added(transaction->actor->batch->db), .item = item, .handler = handler};
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
    const size_t at = db_last_entry(transaction->actor->batch->db);
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

static void parse(struct actor *actor, struct batch_item *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!items[i]->has_failed)
            batch_item_parse(actor, items[i]);
        items[i]->has_failed |= !is_settled(items[i]);
        if (items[i]->has_failed) {
            batch_item_fail(items[i], OUTCOME_SERVER_ERROR);
            items[i]->status = ST_REFUSED;
        }
    }
}

static void query_together(struct transaction *transaction, const struct command_handler *handler)
{
    struct actor *actor = transaction->actor;
    struct command **together = ARENA_ARRAY(&actor->batch->arena, struct command *, transaction->n);
    size_t n_together = 0;

    for (size_t i = 0; i < transaction->n; i++) {
        struct batch_item *item = transaction->items[i];

        if (item->command.handler == handler && item->status == ST_OK)
            together[n_together++] = &item->command;
    }
    if (n_together > 0)
        handler->query_together(together, n_together, actor->batch->db, actor->service->self);
    add_owner(transaction, NULL, handler);
}

/* If this batch would hold too much, commands that only read can run again with the next one, so
   their results may be dropped; but not those of the first, so that each batch answers at least
   one. */
static void query(struct transaction *transaction)
{
    const struct service *service = transaction->actor->service;
    struct db *db = transaction->actor->batch->db;
    bool has_read = false;

    for (size_t i = 0; i < transaction->n; i++) {
        struct batch_item *item = transaction->items[i];
        const bool only_reads = !item->command.handler->writes;

        item->entries_begin = db_added(db);
        db_add_spare(db, only_reads && has_read ? transaction->actor->queue.batch_bytes : 0);
        batch_item_query(transaction->actor, item);
        item->entries_end = db_added(db);
        has_read |= only_reads && item->entries_end > item->entries_begin;
        add_owner(transaction, item, NULL);
    }
    db_add_spare(db, 0);
    for (size_t i = 0; i < service->n_handlers; i++)
        if (service->handlers[i]->query_together != NULL)
            query_together(transaction, service->handlers[i]);
}

static size_t left(const struct transaction *transaction, const struct batch_item *item)
{
    size_t bytes = 0;

    for (size_t i = item->entries_begin; i < item->entries_end; i++)
        bytes += db_dropped(transaction->actor->batch->db, i);
    return bytes;
}

/* Statements that the reply hook queues belong to this item, but the run may include those of
   others, too. */
static enum status reply(struct transaction *transaction, struct batch_item *item)
{
    struct actor *actor = transaction->actor;
    enum status st;

    item->left = left(transaction, item);
    if (item->left > 0) {
        item->status = ST_RETRY;
        item->waiting.spent_us += transaction->asked_us / (int64_t)transaction->n;
    } else {
        batch_item_reply(actor, item);
    }
    add_owner(transaction, item, NULL);
    st = db_failure(actor->batch->db);
    if (st != ST_OK) {
        suspect(transaction);
        if (db_last_entry(actor->batch->db) == DB_NO_ENTRY)
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
    struct actor *actor = transaction->actor;
    const struct audit_sink *audit_sink = actor->service->audit_sink;
    struct records records = {.statement = db_added(actor->batch->db)};

    if (audit_sink == NULL)
        return records;
    records.commands = ARENA_ARRAY(&actor->batch->arena, struct command *, transaction->n);
    for (size_t i = 0; i < transaction->n; i++)
        if (transaction->items[i]->status != ST_RETRY)
            records.commands[records.n++] = &transaction->items[i]->command;
    if (records.n > 0)
        audit_sink->add(actor->batch->db, &actor->audit_statements, records.commands, records.n,
                        &actor->batch->arena);
    return records;
}

static void call_on_commit(const struct actor *actor, const struct records *records)
{
    const struct audit_sink *audit_sink = actor->service->audit_sink;

    if (audit_sink != NULL && audit_sink->on_commit != NULL &&
        db_added(actor->batch->db) > records->statement)
        audit_sink->on_commit(db_result(actor->batch->db, records->statement), records->commands,
                              records->n);
}

/* -- all of it ------------------------------------------------------------------------------- */

static void limit_lock_waits(struct actor *actor)
{
    const db_param limit = str_of(arena_printf(&actor->batch->arena, "%d", LOCK_TIMEOUT_SHORT_MS));

    db_add(actor->batch->db, actor->limit_lock_waits, &limit, 1);
}

/* The owner of the first statement that failed becomes the suspect. */
static enum status blame(const struct transaction *transaction, enum status st)
{
    if (st != ST_OK)
        suspect(transaction);
    return st;
}

enum status transaction_ask(struct actor *actor, struct batch_item **items, size_t n,
                            bool locks_are_short, struct transaction **out)
{
    struct transaction *transaction = ARENA_ARRAY(&actor->batch->arena, struct transaction, 1);
    struct db *db = actor->batch->db;

    *transaction = (struct transaction){.actor = actor, .items = items, .n = n};
    *out = transaction;
    metric_observe(actor->metrics->batch_size, (int64_t)n);
    transaction->owners =
        ARENA_ARRAY(&actor->batch->arena, struct owner, 3 * n + actor->service->n_handlers + 2);
    parse(actor, items, n);
    qsort(items, n, sizeof(struct batch_item *), by_lock_order);
    db_open_batch(db, latest_deadline(items, n));
    if (locks_are_short)
        limit_lock_waits(actor);
    add_owner(transaction, NULL, NULL);
    query(transaction);
    transaction->sent_us = clock_mono_us();
    return blame(transaction, db_send_run(db));
}

/* Skips commands whose results were dropped: they run again as a whole. */
enum status transaction_ask_rest(struct transaction *transaction, bool *was_sent)
{
    struct db *db = transaction->actor->batch->db;
    enum status st = db_run(db);
    const size_t n_added = db_added(db);

    *was_sent = false;
    transaction->asked_us = clock_mono_us() - transaction->sent_us;
    if (st != ST_OK)
        return blame(transaction, st);
    for (size_t i = 0; i < transaction->n; i++) {
        struct batch_item *item = transaction->items[i];

        if (left(transaction, item) > 0)
            continue;
        batch_item_query_rest(transaction->actor, item);
        add_owner(transaction, item, NULL);
    }
    *was_sent = db_added(db) > n_added;
    return *was_sent ? blame(transaction, db_send_run(db)) : ST_OK;
}

/* The audit sink's statements go out with the commit, in one round trip. */
enum status transaction_answer(struct transaction *transaction)
{
    struct db *db = transaction->actor->batch->db;
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

enum status transaction_commit(struct transaction *transaction)
{
    struct actor *actor = transaction->actor;
    enum status st = db_commit(actor->batch->db);

    metric_observe(actor->metrics->commit_seconds, clock_mono_us() - transaction->sent_us);
    if (st == ST_OK)
        call_on_commit(actor, &transaction->records);
    return blame(transaction, st);
}

enum status transaction_run(struct actor *actor, struct batch_item **items, size_t n,
                            bool locks_are_short)
{
    struct transaction *transaction;
    enum status st = transaction_ask(actor, items, n, locks_are_short, &transaction);
    bool was_sent;

    if (st == ST_OK)
        st = transaction_ask_rest(transaction, &was_sent);
    if (st == ST_OK)
        st = transaction_answer(transaction);
    if (st == ST_OK)
        st = transaction_commit(transaction);
    return st;
}

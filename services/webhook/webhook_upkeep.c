/*
 * upkeep - lets go of what is old, a step at a time.
 *
 * Each kind has a separate transaction: who held a table of the log while waiting for the queue
 * would wait for a sender that holds the queue and waits for the log.
 */
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/db/once.h"
#include "services/webhook/webhook.h"

enum { EVERY_S = 3600, AGAIN_S = 60, BUSY_S = 5, TIMEOUT_S = 10, STEP = 2000 };
enum { MADE, DROPPED, UNPARTITIONED, BUSY };

static int64_t in_seconds(int64_t seconds)
{
    return clock_mono_us() + seconds * 1000000;
}

static void keep_partitions(struct db *db, struct webhook *self)
{
    const struct params none = {0};
    const struct db_rows *rows;
    int64_t made, dropped;
    enum status st;

    if (clock_mono_us() < self->upkeep.partitions_due_us)
        return;
    self->upkeep.partitions_due_us = in_seconds(AGAIN_S);
    st = db_once(db, SQL_KEEP_PARTITIONS, &none, TIMEOUT_S * INT64_C(1000000));
    if (st != ST_OK) {
        LOG(LOG_WARNING, "could not maintain the log's partitions; retrying in one minute",
            log_str("status", status_name(st)));
        return;
    }
    rows = db_result(db, 0);
    made = db_value_int(rows, 0, MADE);
    dropped = db_value_int(rows, 0, DROPPED);
    metric_set(self->unpartitioned, db_value_int(rows, 0, UNPARTITIONED));
    if (db_value_bool(rows, 0, BUSY)) {
        self->upkeep.partitions_due_us = in_seconds(BUSY_S);
    } else if (made > 0 || dropped > 0) {
        LOG(LOG_INFO, "maintained the log's partitions", log_int("made", made),
            log_int("dropped", dropped));
        self->upkeep.partitions_due_us = 0;
    } else {
        self->upkeep.partitions_due_us = in_seconds(EVERY_S);
    }
}

static enum status expire_queue(struct db *db, const struct webhook *self,
                                const struct params *step, int64_t *expired)
{
    size_t queue;
    enum status st;

    db_open_batch(db, clock_us() + TIMEOUT_S * INT64_C(1000000));
    db_add(db, SQL_LOCK_QUEUE, NULL, 0);
    queue = db_add(db, SQL_EXPIRE_QUEUE, step->at, step->n);
    st = db_commit(db);
    if (st != ST_OK)
        return st;
    *expired = db_value_int(db_result(db, queue), 0, 0);
    metric_add(self->expired, *expired);
    if (*expired > 0)
        LOG(LOG_WARNING, "expired deliveries were skipped", log_int("skipped", *expired));
    return ST_OK;
}

/* Deletes a step of each kind only: others wait for the queue meanwhile. */
static enum status tidy(struct db *db, struct arena *arena, const struct webhook *self,
                        bool *has_more)
{
    int64_t events, statistics, expired;
    struct params step = {0};
    enum status st;

    params_add_int(&step, arena, STEP);
    st = db_once(db, SQL_DROP_EVENTS, &step, TIMEOUT_S * INT64_C(1000000));
    if (st != ST_OK)
        return st;
    events = db_value_int(db_result(db, 0), 0, 0);
    st = db_once(db, SQL_DROP_STATISTICS, &step, TIMEOUT_S * INT64_C(1000000));
    if (st != ST_OK)
        return st;
    statistics = db_value_int(db_result(db, 0), 0, 0);
    st = expire_queue(db, self, &step, &expired);
    if (st == ST_OK)
        *has_more = events == STEP || statistics == STEP || expired == STEP;
    return st;
}

void webhook_upkeep(struct db *db, struct arena *arena, void *service)
{
    struct webhook *self = service;
    bool has_more = false;
    enum status st;

    webhook_outbox_stats(db, self);
    webhook_rekey(db, arena, self);
    if (db_is_up(db))
        keep_partitions(db, self);
    if (clock_mono_us() < self->upkeep.tidy_due_us || !db_is_up(db))
        return;
    st = tidy(db, arena, self, &has_more);
    self->upkeep.tidy_due_us = in_seconds(st != ST_OK ? AGAIN_S : has_more ? 0 : EVERY_S);
    if (st != ST_OK)
        LOG(LOG_WARNING, "could not clean up the log and the queue; retrying in one minute",
            log_str("status", status_name(st)));
}
